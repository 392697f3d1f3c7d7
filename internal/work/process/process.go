package process

import (
	"context"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/adroit-run/adroit/internal/work/ledger"
	"github.com/adroit-run/adroit/internal/work/overlay"
	"github.com/adroit-run/adroit/internal/work/sandbox"
	"github.com/adroit-run/adroit/pkg/guard/secret"
)

// A Process is a command that was started. Its methods are safe for concurrent use.
type Process struct {
	ID string

	cmd      *exec.Cmd
	level    sandbox.Level
	sandbox  string
	policy   *sandbox.Policy
	plan     func() error // makes policy and stay, anew each time
	confined *commandSandbox
	disks    []*disk          // to be left with some room
	shell    string           // Cmd.Shell
	snap     *ledger.Snapshot // of a command that records its changes
	overlay  *overlay.Overlay // that collects them; nil: they are compared
	// awaited: the caller of Run waits for it.
	recorded, awaited bool
	began             time.Time
	out               *HeadTail
	log               *logFile
	hide              *secret.Redactor
	stdin             *os.File        // our end of the pipe of an interactive command
	hold              *Hold           // takes what a person is asked about; nil: it is put aside
	late              context.Context // of what comes after the command: the caller may be gone
	done              chan struct{}
	stop              chan struct{} // closed to ask for the end
	stopped           sync.Once

	denied []overlay.Denied // that it must not change

	mu    sync.Mutex
	final *Output
}

func (p *Process) running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// Done is closed when the command has ended, its group is gone and its output
// is complete.
func (p *Process) Done() <-chan struct{} { return p.done }

// Stdin is the standard input of a command that was started as Interactive, else
// nil. Writing blocks while the command does not read, and fails once it has
// closed its input or ended. Closing it ends the command's input.
func (p *Process) Stdin() io.WriteCloser {
	if p.stdin == nil {
		return nil
	}
	return p.stdin
}

// Output is what there is so far; after Done, all of it.
func (p *Process) Output() *Output {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.final != nil {
		o := *p.final
		return &o
	}
	return p.collect()
}

func (p *Process) collect() *Output {
	o := &Output{ID: p.ID, Code: -1, Took: time.Since(p.began), Sandbox: p.sandbox}
	o.Text, o.Bytes, o.Dropped = p.out.Text()
	if p.log != nil {
		o.Log = p.log.path
	}
	return o
}

// Kill asks the command to end, kills it after two seconds, and returns when it
// is gone.
func (p *Process) Kill() {
	p.stopped.Do(func() { close(p.stop) })
	<-p.done
}
