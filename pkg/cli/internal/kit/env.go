// Package kit provides the commands' common facilities: streams, configuration,
// tools, variables and the clock as values, exit codes, tables, and text in the form that
// people read on a terminal. A test gives a command buffers and fixed values.
//
//	func newShow(e *kit.Env) *cobra.Command {
//		…
//		return kit.Print(e.Out, asJSON, settings, render)
//	}
package kit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/system/hostexec"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/config"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"
)

// An Env is the environment of a command. Config, Tools and Client read or open on their
// first call, so that a command which needs none of them pays for none.
type Env struct {
	In       io.Reader
	Out, Err io.Writer
	Getenv   func(string) string
	Now      func() time.Time
	Config   func() (*config.Config, error)
	Tools    func() (*tools.Set, error) // as configured
	Parts    []adroit.Part              // the program's; their tools are not checked yet
	// Client opens the client that runs jobs; the program closes it.
	Reopen func() error // reads the configuration again, and has Client open with it
	Client func() (adroit.Client, error)
	// Served reports whether Client is a server's or an engine's: jobs go on when this process ends.
	Served func() bool
	// Warn prints a warning once, however often it is given.
	Warn func(format string, args ...any)
	// Divert sends warnings to w until restore is called, because the terminal is in use.
	Divert func(w io.Writer) (restore func())
	// Interactive reports whether a person can be asked here.
	Interactive func() bool
	// Attendant passes on what models at work ask while a job runs here.
	Attendant *Attendant
	// Temporary is the same environment with another directory for its state;
	// close ends it.
	Temporary func(dataDir string) (e *Env, close func() error)
	// Ephemeral state is thrown away: no later command finds its jobs.
	Ephemeral bool
}

// With is the body of a command that works with the client.
func (e *Env) With(run func(ctx context.Context, c adroit.Client, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		c, err := e.Client()
		if err != nil {
			return err
		}
		return run(cmd.Context(), c, args)
	}
}

// Screen returns the screen for progress, which is standard error.
func (e *Env) Screen() *Screen { return NewScreen(e.Err, e.Getenv) }

// OutScreen returns the screen for results, which is standard output.
func (e *Env) OutScreen() *Screen { return NewScreen(e.Out, e.Getenv) }

// DataDir returns the absolute path of the directory with all state.
func (e *Env) DataDir() (string, error) {
	c, err := e.Config()
	if err != nil {
		return "", err
	}
	return c.Data()
}

// Here returns the current directory as the client must be given it: absolute for a
// server, whose own is another, else ".".
func (e *Env) Here() string {
	if e.Served != nil && e.Served() {
		if dir, err := filepath.Abs("."); err == nil {
			return dir
		}
	}
	return "."
}

// Home shortens a path for people.
func (e *Env) Home(path string) string {
	if h := e.Getenv("HOME"); h != "" && h != "/" {
		if path == h {
			return "~"
		}
		if rest, ok := strings.CutPrefix(path, h+"/"); ok {
			return "~/" + rest
		}
	}
	return path
}

// maxInput bounds what is read from files and standard input for a job.
const maxInput = 8 << 20

// Content is an argument, the file behind @, or standard input for -. A backslash keeps either as it is.
func (e *Env) Content(arg string) (string, error) {
	var r io.Reader
	switch {
	case arg == "-", arg == "@-":
		r = e.In
	case strings.HasPrefix(arg, "@"):
		f, err := os.Open(arg[1:])
		if err != nil {
			return "", Usagef("@ reads the value from a file", "%v", err)
		}
		defer f.Close()
		r = f
	default:
		if s := strings.TrimLeft(arg, `\`); len(s) < len(arg) && (s == "-" || strings.HasPrefix(s, "@")) {
			return arg[1:], nil
		}
		return arg, nil
	}
	b, err := io.ReadAll(io.LimitReader(r, maxInput+1))
	if err != nil {
		return "", Fail(fmt.Errorf("reading %s: %w", arg, err), "")
	}
	if len(b) > maxInput {
		return "", Usagef("put it into the workspace and name the file instead", "%s holds more than %d MiB", arg, maxInput>>20)
	}
	if b = rootfs.ToUTF8(b); !utf8.Valid(b) || !rootfs.IsText(b) {
		return "", Usagef("save it as UTF-8, or as UTF-16 with a byte order mark; name a file in the workspace or attach it if it is no text", "%s holds no text in UTF-8", arg)
	}
	return string(b), nil
}

// firstByte bounds the wait for piped input to begin. Who starts a program often leaves a
// pipe open that nobody writes to.
const firstByte = time.Second

// Piped reads what is piped in, "" if that is nothing. It waits a second for its
// beginning, and then for its end.
func (e *Env) Piped() (string, error) {
	f, ok := e.In.(*os.File)
	if !ok {
		return "", nil
	}
	info, err := f.Stat()
	switch {
	case err != nil:
		return "", nil
	case info.Mode().IsRegular():
	case info.Mode()&(os.ModeNamedPipe|os.ModeSocket) == 0:
		return "", nil
	case !begins(int(f.Fd())):
		e.Warn("nothing was piped in within a second, so standard input is not read; a - at the end of the words waits for it")
		return "", nil
	}
	return e.Content("-")
}

// begins waits until a pipe has something to read, or has ended.
func begins(fd int) bool {
	for end := time.Now().Add(firstByte); ; {
		left := time.Until(end)
		if left <= 0 {
			return false
		}
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(fds, int(left.Milliseconds())+1)
		if err != nil && err != unix.EINTR {
			return false
		}
		if n > 0 {
			return fds[0].Revents&(unix.POLLIN|unix.POLLHUP) != 0
		}
	}
}

// Directory checks and resolves the directory that a job works in.
func Directory(dir string) (string, error) {
	switch info, err := os.Stat(dir); {
	case errors.Is(err, os.ErrNotExist):
		return "", Usagef("create it first, or name another with -C", "there is no directory %q", dir)
	case err != nil:
		return "", Usagef("", "%v", err)
	case !info.IsDir():
		return "", Usagef("name its directory with -C", "%q is not a directory", dir)
	}
	abs, err := filepath.Abs(dir)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	switch {
	case err == nil && !utf8.ValidString(abs): // records of jobs and of models are text
		return "", Usagef("rename what is not, or make a bind mount of the directory under another name", "the name of the directory %q is not UTF-8", abs)
	case err == nil:
		hostexec.Forbid(abs)
	}
	return abs, err
}

// Current is the current directory with no links in it, as jobs have theirs.
func Current() (string, error) {
	dir, err := os.Getwd() // PWD may lead through links
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(dir)
}

// IsLast reports whether a job is named by the word last.
func IsLast(ref string) bool { return strings.EqualFold(strings.TrimSpace(ref), "last") }

// Job returns the id of the job that ref names to the client. It resolves last in dir,
// where "" means the current directory; a server does not know the client's directory.
// Any other ref is returned unchanged.
func Job(ctx context.Context, c adroit.Client, ref, dir string) (id string, err error) {
	if !IsLast(ref) {
		return ref, nil
	}
	if dir == "" {
		dir, err = Current()
	} else {
		dir, err = Directory(dir)
	}
	if err != nil {
		return "", err
	}
	s, err := Last(ctx, c, dir)
	if err != nil {
		return "", err
	}
	return s.ID, nil
}

// Last returns the newest job of the project in dir, which is absolute and has no links
// in it, or of all projects for "". If the project has none, the error names the newest
// job of another project, which its id selects.
func Last(ctx context.Context, c adroit.Client, dir string) (*adroit.JobSummary, error) {
	list, err := c.Jobs(ctx, adroit.ListOptions{Dir: dir, Here: true, Limit: 1})
	if err == nil && len(list) == 0 {
		list, err = c.Jobs(ctx, adroit.ListOptions{Limit: 1})
		for _, other := range list {
			return nil, problem.NoLast(other.ID, other.Dir, dir)
		}
	}
	switch {
	case err != nil:
		return nil, err
	case len(list) == 0:
		return nil, problem.NoLast("", "", "")
	}
	return &list[0], nil
}

// Rate returns what a model's tokens cost, in USD, 0 for one without a price. It
// is nil if the configuration cannot be read.
func (e *Env) Rate() func(model string, u llm.Usage) float64 {
	c, err := e.Config()
	if err != nil {
		return nil
	}
	return func(model string, u llm.Usage) float64 {
		p, _ := c.Prices.Of(model)
		return p.Cost(u)
	}
}

// zeroAllowed marks the flags whose 0 says something.
const zeroAllowed = "adroit_zero"

// AllowZero makes numeric flags accept 0, which is refused otherwise.
func AllowZero(f *pflag.FlagSet, names ...string) {
	for _, name := range names {
		if err := f.SetAnnotation(name, zeroAllowed, nil); err != nil {
			panic(err) // it was added before
		}
	}
}

// ZeroAllowed reports whether a flag takes 0.
func ZeroAllowed(f *pflag.Flag) bool {
	_, ok := f.Annotations[zeroAllowed]
	return ok
}

// emptyAllowed marks the flags whose empty text says something.
const emptyAllowed = "adroit_empty"

// AllowEmpty has a flag take an empty text, which is refused otherwise.
func AllowEmpty(f *pflag.FlagSet, name string) {
	if err := f.SetAnnotation(name, emptyAllowed, nil); err != nil {
		panic(err) // it was added before
	}
}

// EmptyAllowed reports whether a flag takes an empty text.
func EmptyAllowed(f *pflag.Flag) bool {
	_, ok := f.Annotations[emptyAllowed]
	return ok
}

// JSONFlag adds --json.
func JSONFlag(cmd *cobra.Command, on *bool) { cmd.Flags().BoolVar(on, "json", false, "as JSON") }

// Noun is a command that only collects those below it.
func Noun(use, short string, below ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Args: cobra.ArbitraryArgs, RunE: Group}
	cmd.AddCommand(below...)
	return cmd
}

// Under adds commands below one that does something by itself, and returns it.
func Under(cmd *cobra.Command, below ...*cobra.Command) *cobra.Command {
	cmd.AddCommand(below...)
	return cmd
}

// Lister is a Noun that lists when it is called bare, as its command list does.
func Lister(use, short string, list *cobra.Command, below ...*cobra.Command) *cobra.Command {
	cmd := Noun(use, short, append([]*cobra.Command{list}, below...)...)
	cmd.Flags().AddFlagSet(list.Flags())
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return Group(cmd, args)
		}
		return list.RunE(cmd, args)
	}
	return cmd
}

// commandBelow is the path of a command of that name one level further down, as
// adroit jobs logs for adroit logs; empty if there is none. Jobs come first: they
// have what people type most.
func commandBelow(cmd *cobra.Command, name string) string {
	found := ""
	for _, noun := range cmd.Commands() {
		for _, c := range noun.Commands() {
			if c.IsAvailableCommand() && c.Name() == name && (found == "" || noun.Name() == "jobs") {
				found = c.CommandPath()
			}
		}
	}
	return found
}

// Near is the path of the command below cmd that a word was most likely to be; empty if none is like it.
func Near(cmd *cobra.Command, word string) string {
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	n, below := spelling.Nearest(word, names), commandBelow(cmd, word)
	if below == "" && n != "" {
		return cmd.CommandPath() + " " + n
	}
	return below
}

// Group is the body of a command that only has subcommands.
func Group(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	help := cmd.CommandPath() + " --help lists the commands"
	if n := Near(cmd, args[0]); n != "" {
		help = fmt.Sprintf("did you mean %q?\n%s", n, help)
	} else if !cmd.HasParent() { // a word may be all that somebody asks
		help = hint.Command("run assistant %s", strings.Join(args, " ")) + " takes it as a prompt\n" + help
	}
	return Usagef(help, "unknown command %q", cmd.CommandPath()+" "+args[0])
}

// Exit codes. They are a contract: scripts branch on them.
const (
	Done      = 0
	Failed    = 1
	Usage     = 2
	Limit     = 3 // stopped short of being done: by a limit, stuck, or by the model's account
	Waiting   = 4 // for a person
	Cancelled = 5
	Signal    = 128 // plus the signal's number
)

// An Error ends the program with a code. Without Err nothing more is printed.
type Error struct {
	Code int
	Err  error
	Hint string
}

func (f *Error) Error() string {
	if f.Err == nil {
		return fmt.Sprintf("exit %d", f.Code)
	}
	return f.Err.Error()
}

func (f *Error) Unwrap() error { return f.Err }

// Usagef is a usage error: the command line itself is wrong.
func Usagef(hint, format string, args ...any) error {
	return &Error{Usage, fmt.Errorf(format, args...), hint}
}

// Fail is an error with a hint for what to do about it.
func Fail(err error, hint string) error { return &Error{Failed, err, hint} }

// With ends the program with a code and prints nothing more; nil for [Done].
func With(code int) error {
	if code == Done {
		return nil
	}
	return &Error{Code: code}
}

// A StopError is a signal from the operator, the cause why a command's context
// ended. The job it stops is interrupted, not cancelled.
type StopError struct{ Signal syscall.Signal }

func (e *StopError) Error() string { return "stopped by " + e.Signal.String() }
func (e *StopError) Unwrap() error { return jobs.ErrStopped }

// OfSignal is the exit code for a signal. A terminal that went away is the same
// request as SIGTERM.
func OfSignal(s syscall.Signal) int {
	if s == syscall.SIGHUP {
		s = syscall.SIGTERM
	}
	return Signal + int(s)
}

// Stopped is the error of a command whose context has ended.
func Stopped(ctx context.Context) error {
	if s, ok := errors.AsType[*StopError](context.Cause(ctx)); ok {
		return With(OfSignal(s.Signal))
	}
	return context.Cause(ctx)
}

// OfJob is the exit code for the status of a job that a command with ctx ran or
// waited for.
func OfJob(ctx context.Context, status jobs.Status) int {
	switch {
	case status.Succeeded():
		return Done
	case status.Halted():
		return Limit
	case status == jobs.Waiting:
		return Waiting
	case status == jobs.Cancelled:
		return Cancelled
	}
	if s, ok := errors.AsType[*StopError](context.Cause(ctx)); ok {
		return OfSignal(s.Signal)
	}
	return Failed
}

// A Build identifies this program.
type Build struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Dirty    bool   `json:"dirty,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// stamped is the version that make dist links in; see internal/dev/dist.
var stamped string

// Read is this program's build.
func Read() Build {
	b := Build{Version: "devel", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		b.Version = v
	}
	if stamped != "" {
		b.Version = stamped
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.modified":
			b.Dirty = s.Value == "true"
		}
	}
	return b
}

// Line is the build of a program in a line.
func (b Build) Line(program string) string {
	return strings.Join([]string{program, b.Version, b.Go, b.Platform}, " ")
}

// NewVersion is adroit version.
func NewVersion(e *Env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  adroit version",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return Print(e.Out, asJSON, Read(), func(w io.Writer, b Build) { fmt.Fprintln(w, b.Line(hint.Program())) })
		},
	}
	JSONFlag(cmd, &asJSON)
	return cmd
}

// An Asker puts a question of a model at work, which is JSON of
// executor.Question, to a person; no says why not, "" is yes.
type Asker func(ctx context.Context, question json.RawMessage) (no string, err error)

// An Attendant asks the person who is present while a job runs: unlike a job, a process
// at work cannot be parked until somebody comes. Its zero value has nobody to ask. It is
// safe for concurrent use and asks one question at a time.
type Attendant struct {
	mu  sync.Mutex
	ask Asker
}

// Attend lets ask be asked until the function it returns is called.
func (a *Attendant) Attend(ask Asker) (leave func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ask = ask
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.ask = nil
	}
}

// Person returns the function that asks the attending person, nil if there is none now.
// It is for adroit.Options.Person.
func (a *Attendant) Person() func(context.Context, json.RawMessage) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ask == nil {
		return nil
	}
	return func(ctx context.Context, question json.RawMessage) (string, error) {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.ask == nil {
			return "", errors.New("nobody is at the terminal any more")
		}
		return a.ask(ctx, question)
	}
}
