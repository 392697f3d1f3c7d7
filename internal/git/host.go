package git

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/adroit-run/adroit/internal/system/exhaustion"
	"github.com/adroit-run/adroit/internal/system/hostexec"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/work/process"
)

// outputWait bounds the wait for the end of git's output after git has ended. It
// is long because a loaded machine may let the reader run late.
const outputWait = 30 * time.Second

// A Host runs git on this machine for a person, not for a model: outside any
// sandbox and in no ledger. Killing this process does not kill what it runs.
type Host struct {
	Dir  string
	Wait time.Duration // instead of outputWait

	held []*os.File // see [Repo.Holding]
}

// OnHost is git in a directory, with env on top of its environment.
func OnHost(dir string, env ...string) *Repo { return &Repo{exec: &Host{Dir: dir}, env: env} }

// Holding returns a git that has a file open for as long as it runs, also when this
// process is killed: if it is locked with flock(2), whoever waits for the lock waits for that git
// too. It changes nothing with nil, and of a git that is not on the host.
func (g *Repo) Holding(f *os.File) *Repo {
	h, ok := g.exec.(*Host)
	if !ok || f == nil {
		return g
	}
	return &Repo{exec: &Host{Dir: h.Dir, Wait: h.Wait, held: append(slices.Clip(h.held), f)}, env: g.env, files: g.files, found: g.found}
}

func (h *Host) Run(ctx context.Context, c process.Cmd) (*process.Output, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var text process.HeadTail
	hostexec.Forbid(h.Dir)
	cmd := hostexec.Command(context.Background(), c.Args[0], c.Args[1:]...) // git is never cut short
	cmd.ExtraFiles = h.held
	cmd.Dir, cmd.Env = h.Dir, hostexec.Environ(rootfs.Environ(os.Environ(), c.Env))
	cmd.Stdout, cmd.Stderr = &text, &text
	if c.Stdout != nil {
		cmd.Stdout = c.Stdout
	}
	if c.Stdin != nil {
		cmd.Stdin = bytes.NewReader(c.Stdin)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // Ctrl-C is for us: git is never cut short
	cmd.WaitDelay = cmp.Or(h.Wait, outputWait)
	o := &process.Output{Sandbox: "off"}
	if err := cmd.Start(); err != nil {
		return nil, process.StartError(c.Args[0], err)
	}
	exhaustion.Begun(ctx)
	late := time.AfterFunc(c.Timeout, func() { _ = cmd.Process.Kill() })
	err := cmd.Wait()
	o.TimedOut = !late.Stop()
	var exit *exec.ExitError
	// What git itself printed was in the pipe when it ended and has been read by
	// now; only a child that it left behind can still hold the pipe open.
	if err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
		return nil, err
	}
	o.Code = process.ExitCode(cmd.ProcessState)
	o.Text, o.Bytes, o.Dropped = text.Text()
	return o, nil
}

// ResolveCommit is the hash of a commit.
func (g *Repo) ResolveCommit(ctx context.Context, ref string) (string, error) {
	out, err := g.RunPlumbing(ctx, nil, process.Cmd{Args: []string{"rev-parse", "--verify", "--quiet", "--end-of-options", ref + "^{commit}"}})
	if err != nil {
		return "", fmt.Errorf("there is no commit %s: %w", ref, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// IsAncestor reports whether the history of one commit has the other in it.
func (g *Repo) IsAncestor(ctx context.Context, history, commit string) (bool, error) {
	_, err := g.RunPlumbing(ctx, nil, process.Cmd{Args: []string{"merge-base", "--is-ancestor", commit, history}})
	if exit, ok := errors.AsType[*ExitError](err); ok && exit.Code == 1 {
		return false, nil
	}
	return err == nil, err
}
