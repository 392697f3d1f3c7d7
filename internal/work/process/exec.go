package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/adroit-run/adroit/internal/system/exhaustion"
	"github.com/adroit-run/adroit/internal/system/hostexec"
	"github.com/adroit-run/adroit/internal/system/rootfs"
)

// DefaultTimeout bounds a Run that names no timeout.
const DefaultTimeout = 10 * time.Minute

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
	p.late, p.denied = exhaustion.Outlive(ctx), deniedOf(ctx)
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
