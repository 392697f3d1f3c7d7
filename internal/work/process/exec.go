package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/adroit-run/adroit/internal/system/exhaustion"
	"github.com/adroit-run/adroit/internal/system/hostexec"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/work/overlay"
	"github.com/adroit-run/adroit/internal/work/sandbox"
)

// DefaultTimeout bounds a Run that names no timeout.
const DefaultTimeout = 10 * time.Minute

// Exec runs commands for tools. Implementations are safe for concurrent use.
type Exec interface {
	// Run runs a command to its end. It returns an error only if the command could not be started
	// or ctx ended; in the latter case the error is ctx's and the output so far comes with
	// it. For a command that ran and failed, see Output.Code.
	Run(ctx context.Context, c Cmd) (*Output, error)
	// Start starts a command that goes on after the call, also after ctx ends,
	// until it is done, killed, over its timeout, or the Exec is closed.
	Start(ctx context.Context, c Cmd) (*Process, error)
	// Process finds a command by the id in its Output.
	Process(id string) (*Process, bool)
	// Close kills every command and waits until they are gone.
	Close() error
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
	p.late, p.denied = exhaustion.Outlive(ctx), DeniedOf(ctx)
	if awaited && c.Snapshot && r.led != nil {
		p.hold = holdOf(ctx)
	}
	if c.Snapshot && r.led != nil {
		if p.snap, err = r.led.Snapshot(ctx, r.root); err != nil {
			r.forget(p)
			return nil, fmt.Errorf("noting the files before the command: %w", err)
		}
		if c.OwnGit {
			p.snap.OwnGit()
		}
	}
	env := rootfs.Environ(os.Environ(), c.Env)
	if c.Outside {
		env = slices.Concat(os.Environ(), c.Env)
	}
	if r.sandbox == nil || c.Outside {
		// It is the operator's program, not one of a job.
		p.cmd = hostexec.Command(context.WithoutCancel(ctx), argv[0], argv[1:]...)
		env = hostexec.Environ(env)
	} else {
		p.cmd = hostexec.Sandboxed(argv[0], argv[1:]...)
	}
	p.cmd.Dir, p.cmd.Env = dir, env
	if err := r.confine(ctx, p, c); err != nil {
		r.forget(p)
		return nil, err
	}
	if p.snap != nil && p.overlay == nil {
		if err := p.snap.KeepIgnored(ctx); err != nil {
			r.forget(p)
			return nil, err
		}
	}
	started := make(chan error)
	go r.supervise(p, c, started)
	if err := <-started; err != nil {
		return nil, err
	}
	exhaustion.Begun(ctx)
	return p, nil
}

// Ways to attribute changes of files while a command ran.
const (
	// Exact: the command's changes are collected apart from everybody else's.
	Exact = "exact"
	// Uncertain: the files are compared before and after the command, so that
	// changes somebody else made meanwhile are among them.
	Uncertain = "uncertain"
)

// Attribution returns how the changes of commands in root are found at a level,
// Exact or Uncertain, and if they are uncertain, why. It runs a command to find
// out. Data is the jobs' directory; it need not exist. A single command can be
// uncertain where others are exact: see [Output.Uncertain].
func Attribution(level sandbox.Level, root, data string) (how, why string) {
	for {
		if info, err := os.Stat(data); err == nil && info.IsDir() || data == filepath.Dir(data) {
			break
		}
		data = filepath.Dir(data)
	}
	if why := usable(level, root, data, &overlay.Support{}); why != "" {
		return Uncertain, why
	}
	real, err := filepath.EvalSymlinks(root)
	if err != nil {
		return Uncertain, err.Error()
	}
	if why := new(overlay.Support).Fits(real, []string{real}); why != "" {
		return Uncertain, why
	}
	return Exact, ""
}

func usable(level sandbox.Level, root, data string, o *overlay.Support) string {
	if level != sandbox.Full {
		return fmt.Sprintf("only the sandbox level %s collects what a command writes", sandbox.Full)
	}
	return o.Usable(root, data)
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
	// StdoutEnded, if set, is called at the end of Stdout, which may come before the command is
	// done.
	StdoutEnded func()
	// Watch, if set, gets the text of Output.Text as it arrives. It is written to by one
	// goroutine, until the command is done, and must not block.
	Watch io.Writer
	// Snapshot records the command's changes of the workspace in the ledger.
	Snapshot bool
	// OwnGit: with Snapshot, the command is a git of this program's own that moves references, and
	// moves of references meanwhile are attributed to it.
	OwnGit bool
	// Net gives the command the network of this machine despite the sandbox: for a tool that has
	// the network and runs a program of its own choice.
	Net bool
	// Outside runs the command outside the sandbox, as the user's own shell would, with
	// all of the environment: for a tool that a person is asked about each time.
	Outside bool
}

func (c Cmd) argv() ([]string, error) {
	if c.Interactive && c.Stdin != nil {
		return nil, errors.New("a command is given its input as Stdin or through a pipe (Interactive), not both")
	}
	argv := c.Args
	if c.Shell != "" {
		argv = append([]string{"/bin/sh", "-c", c.Shell}, c.Args...)
	}
	if len(argv) == 0 || argv[0] == "" {
		return nil, errors.New("no command was given; name a program to run")
	}
	for _, a := range argv {
		if strings.ContainsRune(a, 0) {
			return nil, fmt.Errorf("the argument %q contains a NUL byte; leave it out", a)
		}
	}
	return argv, nil
}

// An Output is the result of a command, so far if it still runs.
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
	Uncertain bool `json:"uncertain,omitempty"`
	// Unjoined are files that it changed and that are not in the workspace so: a rule, a
	// person or somebody else's change keeps what lies there. Note has the reasons.
	Unjoined []string `json:"unjoined,omitempty"`
	Note     string   `json:"note,omitempty"` // something about the record that the reader should know
}

// Whole returns all of the output, printable, if it has at most n bytes; otherwise its head and
// its tail, and the number of bytes missing between them.
func (o *Output) Whole(n int) (text string, dropped int64) {
	if o.Dropped == 0 {
		return o.Text, 0
	}
	b, err := os.ReadFile(o.Log)
	if o.Log == "" || err != nil {
		return o.Text, o.Dropped
	}
	if missing := o.Bytes - int64(len(b)); missing > 0 || len(b) > n {
		head, tail := b[:min(len(b), n/2)], b[max(0, len(b)-n/2):]
		return strings.ToValidUTF8(rootfs.Visible(string(head)), "") + "\n[…]\n" + strings.ToValidUTF8(rootfs.Visible(string(tail)), ""), o.Bytes - int64(len(head)+len(tail))
	}
	return rootfs.Visible(string(b)), 0
}

// ExitCode returns the code that a shell would report.
func ExitCode(s *os.ProcessState) int {
	if s == nil {
		return -1
	}
	if ws, ok := s.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return s.ExitCode()
}

// A reaper is a small process that outlives ours by a moment: it knows the
// process groups that are running and kills them when our end of its input
// closes, which a kill -9 cannot prevent. Without one, a killed runner would
// leave the children of its commands behind.
type reaper struct {
	mu    sync.Mutex
	cmd   *exec.Cmd
	input io.WriteCloser
}

// guardScript keeps the group numbers as its positional parameters.
const guardScript = `trap '' HUP INT TERM
while read -r op id; do
  if [ "$op" = + ]; then set -- "$@" "$id"; continue; fi
  n=$#
  while [ $n -gt 0 ]; do
    [ "$1" = "$id" ] || set -- "$@" "$1"
    shift; n=$((n-1))
  done
done
for id; do kill -s KILL -- "-$id"; done 2>/dev/null`

// begin starts the guard if it does not run. It is called before a command is
// started, so that little time passes until the guard knows of it. Without a
// guard the leader of a group still dies with us.
func (g *reaper) begin() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.cmd != nil {
		return
	}
	cmd := exec.Command("/bin/sh", "-c", guardScript)
	cmd.Dir, cmd.Env = "/", []string{}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	in, err := cmd.StdinPipe()
	if err != nil || cmd.Start() != nil {
		return
	}
	g.cmd, g.input = cmd, in
}

func (g *reaper) add(group int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.cmd != nil {
		fmt.Fprintf(g.input, "+ %d\n", group)
	}
}

func (g *reaper) remove(group int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.cmd != nil {
		fmt.Fprintf(g.input, "- %d\n", group)
	}
}

func (g *reaper) Close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.cmd == nil {
		return nil
	}
	g.input.Close()
	_ = g.cmd.Wait() // how the shell ended says nothing
	g.cmd = nil
	return nil
}
