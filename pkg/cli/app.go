package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/system/hostexec"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/api"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/config"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/guard/secret"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/spf13/cobra"
)

// An app is one command line being executed: the program, and what was opened on
// the way. Its commands know it as an kit.Env. It is used by one goroutine.
type app struct {
	Program
	dataDir string // of the flag
	server  string // of the flag; see served
	engine  string // of the flag; see runsElsewhere
	local   bool   // no server does it
	serves  bool   // the command is a server: of the engine's jobs, if there is one
	looks   bool   // the command only looks at jobs

	out      *kit.Output
	conf     *config.Config
	rt       *adroit.Runtime // see runtime
	far      adroit.Client   // see remote
	cluster  Engine          // see runsElsewhere
	set      *tools.Set
	hide     *secret.Redactor // see redactor
	warnings warnings
	asked    kit.Attendant // who models at work may ask
	endLog   func() error  // nil without one
}

func newApp(p Program) *app {
	if p.Stdin == nil {
		p.Stdin = strings.NewReader("")
	}
	if p.Stdout == nil {
		p.Stdout = io.Discard
	}
	if p.Stderr == nil {
		p.Stderr = io.Discard
	}
	if p.Getenv == nil {
		p.Getenv = os.Getenv
	}
	out := &kit.Output{Writer: p.Stdout}
	p.Stdout = out
	return &app{Program: p, out: out, warnings: warnings{w: p.Stderr}}
}

// env returns the environment that commands get.
func (a *app) env() *kit.Env {
	return &kit.Env{
		In: a.Stdin, Out: a.Stdout, Err: a.Stderr, Getenv: a.Getenv, Now: time.Now, Config: a.config, Tools: a.tools, Parts: a.parts(),
		Client: a.client, Reopen: a.reopen, Served: func() bool { return a.served() != "" || a.runsElsewhere() }, Warn: a.warnings.print, Divert: a.warnings.divert, Interactive: a.interactive, Attendant: &a.asked, Temporary: a.temporary,
	}
}

// temporary is the environment of the same program with another directory for
// its state, which is thrown away.
func (a *app) temporary(dataDir string) (e *kit.Env, close func() error) {
	own := &app{Program: a.Program, out: a.out, dataDir: dataDir, local: true, warnings: warnings{w: a.Stderr}}
	e = own.env()
	e.Ephemeral = true
	return e, own.close
}

// close releases what was opened. It may be called again.
func (a *app) close() (err error) {
	if a.far != nil {
		err = a.far.Close()
	}
	if a.rt != nil {
		err = errors.Join(err, a.rt.Close())
	}
	if a.cluster != nil {
		err = errors.Join(err, a.cluster.Close())
	}
	if a.endLog != nil {
		err = errors.Join(err, a.endLog())
	}
	a.far, a.rt, a.cluster, a.endLog = nil, nil, nil, nil
	return err
}

// reopen forgets what was read and opened, so that it is read and opened anew.
func (a *app) reopen() error {
	a.conf, a.set, a.hide = nil, nil, nil
	return a.close()
}

// config is the configuration, read when a command first needs it.
func (a *app) config() (*config.Config, error) {
	if a.conf != nil {
		return a.conf, nil
	}
	from, flags := config.Env{Getenv: a.Getenv, ReadFile: os.ReadFile, Parts: a.parts()}, config.Flags{DataDir: a.dataDir}
	c, err := config.Load(from, flags)
	if err != nil && a.looks {
		if place, e := config.LoadPlace(from, flags); e == nil {
			a.warnings.print("%v; the configuration is not used", err)
			c, err = place, nil
		}
	}
	if err == nil {
		a.conf = c
	}
	return c, err
}

// parts are the program's, and one of its own tools.
func (a *app) parts() []adroit.Part {
	if len(a.Tools) == 0 {
		return a.Parts
	}
	return append(slices.Clone(a.Parts), adroit.Part{Name: a.Name, Tools: a.Tools})
}

// tools are the program's tools as they are configured, checked.
func (a *app) tools() (*tools.Set, error) {
	if a.set != nil {
		return a.set, nil
	}
	list := adroit.ToolsOf(a.parts()) // whoever needs the configuration reports what is wrong with it
	if c, err := a.config(); err == nil {
		list = c.Tools(a.program())
	}
	set, err := tools.NewSet(list...)
	if err != nil {
		return nil, kit.Fail(fmt.Errorf("this program's tools: %w", err), "this is a defect of the program; run "+hint.Command("tools lint")+" for details")
	}
	a.set = set
	return set, nil
}

// program returns the parts of the program that its configuration depends on.
func (a *app) program() config.Program {
	return config.Program{Workflows: a.Workflows, Now: time.Now, Version: kit.Read().Version, Warn: func(text string) { a.warnings.print("%s", text) }}
}

// redactor knows every key of the configuration and of the environment. It
// works as well as it can where the configuration cannot be read.
func (a *app) redactor() *secret.Redactor {
	if a.hide != nil {
		return a.hide
	}
	c, err := a.config()
	r := config.Redactor(c, a.Getenv)
	if err == nil {
		a.hide = r
	}
	return r
}

// client returns the client that commands use: a remote server's if one is configured,
// else the runtime, wrapped by Through if that is set.
func (a *app) client() (_ adroit.Client, err error) {
	if base := a.served(); base != "" && a.far == nil {
		a.far, err = a.remote(base)
	}
	if a.far != nil || err != nil {
		return a.far, err
	}
	if a.runsElsewhere() {
		if a.far, err = a.elsewhere(); err != nil {
			return nil, err
		}
		return a.far, nil
	}
	rt, err := a.runtime()
	if err != nil {
		return nil, err
	}
	if a.Through != nil {
		return a.Through(rt), nil
	}
	return rt, nil
}

// runtime is the program's one runtime, as it is configured.
func (a *app) runtime() (*adroit.Runtime, error) {
	if a.rt != nil {
		return a.rt, nil
	}
	conf, err := a.config()
	if err != nil {
		return nil, err
	}
	o, err := conf.Options(a.program())
	if err != nil {
		return nil, err
	}
	a.hide = o.Secrets
	if o.Dir == "" {
		if o.Dir, err = kit.Current(); err != nil {
			return nil, err
		}
	}
	o.Person, o.Hook = a.asked.Person, killHook()
	if a.cluster != nil {
		o.Elsewhere = a.cluster
	}
	if err := a.openLog(conf, &o); err != nil {
		return nil, err
	}
	a.rt, err = adroit.Open(context.Background(), o)
	return a.rt, err
}

// openLog opens the operators' log of job events and warnings, if one is configured.
func (a *app) openLog(conf *config.Config, o *adroit.Options) error {
	l, end, err := conf.OpenLog(a.Stderr)
	if err != nil || l == nil {
		return err
	}
	warn := o.Warn
	o.Emit, a.endLog = jobs.Sink(l), end
	o.Warn = func(text string) {
		hidden, _ := o.Secrets.String(text)
		l.Warn("warning", "text", hidden)
		warn(text)
	}
	return nil
}

// interactive reports whether a person can be asked here.
func (p Program) interactive() bool {
	in, ok := p.Stdin.(*os.File)
	return ok && kit.IsTerminal(in) && kit.NewScreen(p.Stderr, p.Getenv).IsTerminal()
}

// warnings are printed once each, however often they are given. They are safe for
// concurrent use.
type warnings struct {
	mu      sync.Mutex
	w       io.Writer
	printed []string
}

func (ws *warnings) print(layout string, args ...any) {
	text := fmt.Sprintf(layout, args...)
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if slices.Contains(ws.printed, text) {
		return
	}
	ws.printed = append(ws.printed, text)
	fmt.Fprintf(ws.w, "%s: note: %s\n", hint.Program(), kit.Sanitize(text))
}

// divert sends later warnings to w until restore is called.
func (ws *warnings) divert(w io.Writer) (restore func()) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	before := ws.w
	ws.w = w
	return func() {
		ws.mu.Lock()
		defer ws.mu.Unlock()
		ws.w = before
	}
}

// served is the address of the server that runs jobs, "" for this process.
func (a *app) served() string {
	if a.local {
		return ""
	}
	return cmp.Or(a.server, a.Getenv("ADROIT_SERVER"))
}

// remote is a client of a server.
func (a *app) remote(base string) (adroit.Client, error) {
	socket, unix := strings.CutPrefix(base, "unix:")
	if unix {
		base = "http://localhost"
	}
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
		return nil, kit.Usagef("for example http://127.0.0.1:7420, as "+hint.Command("serve")+" prints it", "the server %q is not an http address", base)
	}
	here := api.IsLoopback(u.Host)
	if !here && u.Scheme != "https" {
		return nil, kit.Usagef("https encrypts it; ssh -L 7420:127.0.0.1:7420 HOST makes it an address of this machine", "the token is not sent to %s without encryption", u.Host)
	}
	token := a.Getenv("ADROIT_TOKEN")
	if token == "" && !here {
		return nil, kit.Usagef("the server's user reads it from the file that "+hint.Command("serve")+" prints", "ADROIT_TOKEN does not have the token of %s", u.Host)
	}
	if token == "" {
		conf, err := a.config()
		if err != nil {
			return nil, err
		}
		dir, err := conf.Data()
		if err != nil {
			return nil, err
		}
		switch token, err = rootfs.Token(dir); {
		case errors.Is(err, fs.ErrNotExist):
			return nil, kit.Usagef(hint.Command("serve")+" makes it; ADROIT_TOKEN has that of a server with another data directory", "there is no token in %s", dir)
		case err != nil:
			return nil, kit.Fail(err, "")
		}
	}
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // the token is for one address
	transport := api.Bearer(token)
	if unix {
		transport = api.Unix(socket, token)
	}
	return api.NewClient(base, &http.Client{Transport: transport, CheckRedirect: stay}), nil
}

// collectLater puts off the first garbage collection until the heap has 16 MB instead
// of 4. Most commands end before: with 4 they would collect three times, and find
// that nearly everything is still in use. After the first collection all is as usual.
func collectLater() {
	if os.Getenv("GOGC") != "" {
		return
	}
	type sentinel struct{ _ [4]*int } // an object of its own, unlike tiny ones
	runtime.AddCleanup(new(sentinel), func(percent int) { debug.SetGCPercent(percent) }, debug.SetGCPercent(400))
}

// An Engine runs the workflows of jobs in other processes, and has their steps performed by
// the workers of hosts: pkg/temporal, which is a module of its own.
type Engine interface {
	adroit.Elsewhere
	io.Closer
	// Client is one for all its jobs and hosts.
	Client() adroit.Client
	// Work performs the steps of the host's jobs with rt until ctx ends, and calls ready
	// when it has begun. host is the name of this host; empty: that of rt's data directory.
	Work(ctx context.Context, rt *adroit.Runtime, data, host string, ready func(host string)) error
}

// runsElsewhere reports whether jobs are run by another engine than this process.
func (a *app) runsElsewhere() bool {
	local := a.local && !a.serves
	if local || a.engine != "" || a.served() != "" {
		return !local && a.engine == "temporal"
	}
	c, err := a.config()
	return err == nil && c.Engine == "temporal"
}

// elsewhere is a client of the engine's jobs.
func (a *app) elsewhere() (adroit.Client, error) {
	if err := a.connect(context.Background()); err != nil {
		return nil, err
	}
	return a.cluster.Client(), nil
}

// whereabouts returns the engine's cluster and the data directory.
func (a *app) whereabouts() (at config.Temporal, data string, err error) {
	c, err := a.config()
	if err == nil {
		at = c.Cluster()
		data, err = c.Data()
	}
	return at, data, err
}

// connect connects to the engine's cluster.
func (a *app) connect(ctx context.Context) error {
	if a.Program.Engine == nil {
		return noWorker()
	}
	at, _, err := a.whereabouts()
	if err != nil {
		return err
	}
	cluster, err := a.Program.Engine(ctx, at)
	if err != nil { // and cluster may be a nil pointer
		return kit.Fail(fmt.Errorf("connecting to Temporal at %s: %w", at.Address, err), problem.Hint(err))
	}
	a.cluster = cluster
	return nil
}

// workerProgram is adroit with its engine for Temporal.
const workerProgram = "adroit-worker"

func noWorker() error {
	return kit.Fail(errors.New("jobs on Temporal need "+workerProgram+", which lies neither beside this program nor on PATH"),
		"in a clone of the repository, go build -C pkg/temporal -o ~/go/bin/ ./cmd/"+workerProgram+" builds it")
}

// handOver starts adroit-worker in place of this process if jobs are run by its engine. It
// returns if they are not, or if there is none: only a command that needs it
// fails then.
func (a *app) handOver(cmd *cobra.Command) error {
	if a.Program.Engine != nil || path(cmd) != "worker" && !a.runsElsewhere() {
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil
	}
	program := filepath.Join(filepath.Dir(self), workerProgram)
	if _, err := os.Stat(program); err != nil || hostexec.Refused(program) != "" {
		if program, err = hostexec.Find(workerProgram); err != nil {
			return nil
		}
	}
	return syscall.Exec(program, append([]string{cmp.Or(a.Name, "adroit")}, os.Args[1:]...), os.Environ())
}

// newWorker is adroit worker.
func (a *app) newWorker() *cobra.Command {
	var host string
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Perform the steps of jobs on Temporal on this machine",
		Long: "Connects to Temporal and performs the steps of this host's jobs until it is stopped. It uses the\n" +
			"configuration, keys, tools and data directory of this machine. After a stop, the jobs wait for the\n" +
			"next worker of the host. It runs as adroit-worker, which has three commands more. adroit worker\n" +
			"doctor checks the cluster. adroit worker key makes a key for what is sent, and adroit worker codec\n" +
			"decrypts it for Temporal's own interface. See docs/production.md.",
		Example: "  temporal server start-dev --search-attribute AdroitStatus=Keyword \\\n" +
			"    --search-attribute AdroitHost=Keyword --search-attribute AdroitAgent=Keyword \\\n" +
			"    --search-attribute AdroitModel=Keyword --search-attribute AdroitCost=Double\n" +
			"  adroit worker\n" +
			"  adroit run --engine temporal builder \"make the failing tests pass\"",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.connect(cmd.Context()); err != nil {
				return err
			}
			rt, err := a.runtime()
			if err != nil {
				return err
			}
			data, err := a.env().DataDir()
			if err != nil {
				return err
			}
			return a.cluster.Work(cmd.Context(), rt, data, host, func(host string) { fmt.Fprintf(a.Stderr, "working for the host %s\n", host) })
		},
	}
	cmd.Flags().StringVar(&host, "host", "", "the name of this host, once for its data directory; else it is made from the machine's")
	switch {
	case a.Worker != nil:
		cmd.AddCommand(a.Worker(a.whereabouts)...)
	case a.Program.Engine == nil: // adroit-worker judges the rest
		cmd.Args, cmd.FParseErrWhitelist.UnknownFlags = cobra.ArbitraryArgs, true
		cmd.SetHelpFunc(func(c *cobra.Command, args []string) { // it knows the commands below
			_ = a.handOver(c) // it is not there: this help has to do
			c.Parent().HelpFunc()(c, args)
		})
	}
	return cmd
}

// A Program is adroit with a list of parts. Nil streams are empty; a nil
// Getenv is os.Getenv.
type Program struct {
	// Name is the name of the program's binary. Printed commands begin with it; "" means
	// adroit.
	Name string
	// Parts are the program's capabilities beside the core, each with its section of the
	// configuration.
	Parts []adroit.Part
	Tools []tools.Tool // the program's own, beside those of the parts
	// Workflows are the program's own, beside those that ship; agents name them.
	Workflows []flow.Workflow
	// Commands are the program's own, beside adroit's. Their errors are printed in the
	// same way; the exit status is 1, or 2 for an error about the arguments.
	Commands []*cobra.Command
	// Engine connects to what runs the workflows of jobs with --engine temporal, and makes
	// adroit worker work. Nil: adroit-worker is started for both, which has it.
	Engine func(ctx context.Context, at config.Temporal) (Engine, error)
	// Worker returns the commands below adroit worker, which may ask where the cluster and the
	// data directory are.
	Worker func(where func() (at config.Temporal, data string, err error)) []*cobra.Command
	// Through wraps the client that commands use. Nil: they use the runtime.
	Through func(adroit.Client) adroit.Client
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer
	Getenv  func(string) string
}

// killHook is set by programs that are built for tests: see failpoints.go.
var killHook = func() func(string, flow.Step) { return nil }
