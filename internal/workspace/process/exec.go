package process

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/adroit-run/adroit/internal/rootfs"
	"github.com/adroit-run/adroit/internal/secret"
	"github.com/adroit-run/adroit/internal/workspace/ledger"
)

const (
	// DefaultTimeout bounds a Run that names no timeout.
	DefaultTimeout = 10 * time.Minute

	grace    = 2 * time.Second        // between asking a command to end and killing it
	linger   = 50 * time.Millisecond  // for output still in the pipe when the command has ended
	abandon  = 200 * time.Millisecond // for output of a process that left the group
	remember = 32                     // finished commands whose output stays in memory
)

// Exec runs commands for tools. Implementations are safe for concurrent use.
type Exec interface {
	// Run runs a command to its end. A command that ran and failed is no error:
	// look at Output.Code. It is an error if the command could not be started;
	// if ctx ended, the error is that of ctx and the output so far comes with it.
	Run(ctx context.Context, c Cmd) (*Output, error)
	// Start starts a command that goes on after the call, also after ctx ends,
	// until it is done, killed, over its timeout, or the Exec is closed.
	Start(ctx context.Context, c Cmd) (*Process, error)
	// Process finds a command by the id in its Output.
	Process(id string) (*Process, bool)
	// Close kills every command and waits until they are gone.
	Close() error
}

// A Cmd is a command to run.
type Cmd struct {
	Args    []string      // the program and its arguments; no shell sees them
	Shell   string        // if set, run by sh -c, with Args as $0, $1, …
	Dir     string        // relative to the root; empty is the root
	Env     []string      // KEY=value, added to the scrubbed environment
	Timeout time.Duration // zero: DefaultTimeout for Run, none for Start
	Stdin   []byte        // none: reading gives the end of file at once
	// Interactive gives the command a pipe for standard input, which the caller
	// writes and closes through Process.Stdin. It excludes Stdin, and is for
	// Start: with Run nobody could write, so the input just ends.
	Interactive bool
	// Stdout, if set, gets standard output as it is, and Output.Text has standard
	// error alone. It is written to by one goroutine, until the command is done.
	Stdout io.Writer
	// Snapshot records in the ledger what the command changed in the workspace.
	Snapshot bool
	// Net gives the command the network of this machine, whatever the sandbox
	// says: for a tool that has the network and runs a program of its own choice.
	Net bool
}

func (c Cmd) argv() ([]string, error) {
	if c.Interactive && c.Stdin != nil {
		return nil, errors.New("a command is given its input as Stdin or through a pipe (Interactive), not both")
	}
	if c.Shell != "" {
		return append([]string{"/bin/sh", "-c", c.Shell}, c.Args...), nil
	}
	if len(c.Args) == 0 || c.Args[0] == "" {
		return nil, errors.New("no command was given; name a program to run")
	}
	for _, a := range c.Args {
		if strings.ContainsRune(a, 0) {
			return nil, fmt.Errorf("the argument %q contains a NUL byte; leave it out", a)
		}
	}
	return c.Args, nil
}

// An Output is what a command did, or has done so far.
type Output struct {
	ID       string        `json:"id"`
	Code     int           `json:"code"` // 128 + signal if a signal ended it, as in a shell; -1 while it runs
	Text     string        `json:"text"` // head and tail, printable; see Visible
	Bytes    int64         `json:"bytes"`
	Dropped  int64         `json:"dropped,omitempty"` // bytes between head and tail
	TimedOut bool          `json:"timed_out,omitempty"`
	Killed   bool          `json:"killed,omitempty"` // ended by Kill, Close or ctx
	Took     time.Duration `json:"took_ns"`
	Log      string        `json:"log,omitempty"`     // file with the output up to MaxLog bytes
	Sandbox  string        `json:"sandbox"`           // the level in force; see Confined
	Changed  []string      `json:"changed,omitempty"` // with Cmd.Snapshot: files that changed
	// Uncertain: Changed was found by comparing the files before and after, which
	// does not show who changed them.
	Uncertain bool   `json:"uncertain,omitempty"`
	Note      string `json:"note,omitempty"` // something about the record that the reader should know
}

// A Runner is the Exec of this machine. Each command is a session of its own
// without a terminal; when its leader ends, whatever is left of its process
// group is killed.
type Runner struct {
	// Hide keeps secrets out of logs and of Output.Text. It is set before the
	// first command; nil hides nothing.
	Redactor *secret.Redactor
	// Names changes the list of names that git shows nothing of, as Hide is set.
	DenyList *rootfs.DenyList

	root, logs string
	led        *ledger.Ledger

	mu      sync.Mutex
	closed  bool
	tree    *rootfs.Tree
	sandbox *runnerSandbox // nil: no sandbox
	next    int
	procs   map[string]*Process
	done    []string // finished, oldest first
	guard   reaper
	wait    sync.WaitGroup
}

// New returns a Runner for commands in root. Logs go to logDir, none if it
// is empty; led may be nil. A root that cannot be used is reported by the first
// command.
func New(root, logDir string, led *ledger.Ledger, opts ...Option) *Runner {
	r := &Runner{root: root, logs: logDir, led: led, procs: map[string]*Process{}}
	for _, o := range opts {
		o(r)
	}
	return r
}

var _ Exec = (*Runner)(nil)

// Run implements Exec.
func (r *Runner) Run(ctx context.Context, c Cmd) (*Output, error) {
	c.Interactive = false // an empty input ends at once, which is what nobody writing means
	if c.Timeout <= 0 {
		c.Timeout = DefaultTimeout
	}
	p, err := r.start(ctx, c, true)
	if err != nil {
		return nil, err
	}
	select {
	case <-p.done:
	case <-ctx.Done():
		p.Kill()
		return p.Output(), fmt.Errorf("the command was stopped: %w", context.Cause(ctx))
	}
	return p.Output(), nil
}

// Process implements Exec. The last few finished commands are found too.
func (r *Runner) Process(id string) (*Process, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p, ok := r.procs[id]
	return p, ok
}

// Close implements Exec. Nothing can be started afterwards.
func (r *Runner) Close() error {
	r.mu.Lock()
	r.closed = true
	var live []*Process
	for _, p := range r.procs {
		live = append(live, p)
	}
	t := r.tree
	r.tree = nil
	r.mu.Unlock()
	for _, p := range live {
		p.stopped.Do(func() { close(p.stop) })
	}
	r.wait.Wait()
	err := errors.Join(r.guard.Close(), r.sandbox.Close())
	if t != nil {
		err = errors.Join(err, t.Close())
	}
	return err
}

// Start implements Exec.
func (r *Runner) Start(ctx context.Context, c Cmd) (*Process, error) {
	return r.start(ctx, c, false)
}

func (r *Runner) start(ctx context.Context, c Cmd, awaited bool) (*Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	argv, err := c.argv()
	if err != nil {
		return nil, err
	}
	p, dir, err := r.admit(c, awaited)
	if err != nil {
		return nil, err
	}
	if c.Snapshot && r.led != nil {
		if p.snap, err = r.led.Snapshot(ctx, r.root); err != nil {
			r.forget(p)
			return nil, fmt.Errorf("noting the files before the command: %w", err)
		}
	}
	p.cmd = exec.Command(argv[0], argv[1:]...)
	p.cmd.Dir = dir
	p.cmd.Env = rootfs.Environ(os.Environ(), c.Env)
	if err := r.confine(p, c); err != nil {
		r.forget(p)
		return nil, err
	}
	started := make(chan error)
	go r.supervise(p, c, started)
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// admit gives a command its id, log and directory, and counts it.
func (r *Runner) admit(c Cmd, awaited bool) (*Process, string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, "", errors.New("no command can be started: the job is ending")
	}
	if r.tree == nil {
		t, err := rootfs.Open(r.root)
		if err != nil {
			return nil, "", err
		}
		r.tree = t
	}
	dir, err := workdir(r.tree, c.Dir)
	if err != nil {
		return nil, "", err
	}
	p := &Process{shell: c.Shell, recorded: c.Snapshot && r.led != nil, awaited: awaited, began: time.Now(), out: &HeadTail{}, hide: r.Redactor, done: make(chan struct{}), stop: make(chan struct{})}
	for p.ID == "" {
		r.next++
		id := "c" + strconv.Itoa(r.next)
		if r.logs == "" {
			p.ID = id
			break
		}
		p.log, err = createLog(r.logs, id)
		if errors.Is(err, os.ErrExist) { // of an earlier run of this job
			continue
		}
		if err != nil {
			return nil, "", err
		}
		p.ID = id
	}
	r.procs[p.ID] = p
	r.wait.Add(1)
	return p, dir, nil
}

// workdir is the absolute path of a directory of the tree.
func workdir(t *rootfs.Tree, name string) (string, error) {
	name = cmp.Or(name, ".")
	p, err := t.Clean(name)
	if err == nil {
		p, err = t.Resolve(name, p, true)
	}
	if err != nil {
		return "", err
	}
	info, err := t.Root.Lstat(p)
	if err != nil {
		return "", t.Explain(name, err)
	}
	if !info.IsDir() {
		return "", &rootfs.PathError{Name: name, Reason: "is not a directory; commands start in one"}
	}
	return filepath.Join(filepath.FromSlash(t.Dir), filepath.FromSlash(p)), nil
}

// forget takes back admit.
func (r *Runner) forget(p *Process) {
	if p.snap != nil {
		p.overlay.Discard()
		_ = p.snap.Drop() // nothing has run: a later comparison would find nothing of it
	}
	r.sandbox.abandon(p.confined)
	p.log.Close()
	r.mu.Lock()
	delete(r.procs, p.ID)
	r.mu.Unlock()
	close(p.done)
	r.wait.Done()
}

// retire keeps a finished command for a while.
func (r *Runner) retire(p *Process) {
	r.mu.Lock()
	r.done = append(r.done, p.ID)
	for len(r.done) > remember {
		delete(r.procs, r.done[0])
		r.done = slices.Delete(r.done, 0, 1)
	}
	r.mu.Unlock()
	close(p.done)
	r.wait.Done()
}

// ExitCode is the code a shell would report.
func ExitCode(s *os.ProcessState) int {
	if s == nil {
		return -1
	}
	if ws, ok := s.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return s.ExitCode()
}
