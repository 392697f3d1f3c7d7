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
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

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
	local   bool   // no server does it
	looks   bool   // the command only looks at jobs

	out      *kit.Output
	conf     *config.Config
	rt       *adroit.Runtime // see runtime
	far      adroit.Client   // see remote
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
		Client: a.client, Served: func() bool { return a.served() != "" }, Warn: a.warnings.print, Divert: a.warnings.divert, Interactive: a.interactive, Attendant: &a.asked, Temporary: a.temporary,
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
	if a.endLog != nil {
		err = errors.Join(err, a.endLog())
	}
	a.far, a.rt, a.endLog = nil, nil, nil
	return err
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
	// Through wraps the client that commands use. Nil: they use the runtime.
	Through func(adroit.Client) adroit.Client
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer
	Getenv  func(string) string
}
