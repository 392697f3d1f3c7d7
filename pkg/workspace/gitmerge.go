package workspace

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// outputWait bounds the wait for the end of git's output after git has ended. It
// is long because a loaded machine may let the reader run late.
const outputWait = 30 * time.Second

// A host runs git on this machine for a person, not for a model: outside any
// sandbox and in no ledger. Killing this process does not kill what it runs.
type host struct {
	dir  string
	wait time.Duration // instead of outputWait
}

// at is git in a directory.
func at(dir string) *Git { return &Git{exec: &host{dir: dir}} }

func (h *host) Run(ctx context.Context, c Cmd) (*Output, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var text tail
	cmd := exec.Command(c.Args[0], c.Args[1:]...)
	cmd.Dir, cmd.Env = h.dir, Environ(os.Environ(), c.Env)
	cmd.Stdout, cmd.Stderr = &text, &text
	if c.Stdout != nil {
		cmd.Stdout = c.Stdout
	}
	if c.Stdin != nil {
		cmd.Stdin = bytes.NewReader(c.Stdin)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // Ctrl-C is for us: git is never cut short
	cmd.WaitDelay = cmp.Or(h.wait, outputWait)
	o := &Output{Sandbox: "off"}
	if err := cmd.Start(); err != nil {
		return nil, startError(c.Args[0], err)
	}
	late := time.AfterFunc(c.Timeout, func() { _ = cmd.Process.Kill() })
	err := cmd.Wait()
	o.TimedOut = !late.Stop()
	var exit *exec.ExitError
	// What git itself printed was in the pipe when it ended and has been read by
	// now; only a child that it left behind can still hold the pipe open.
	if err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
		return nil, err
	}
	o.Code = exitCode(cmd.ProcessState)
	o.Text, o.Bytes, o.Dropped = text.text()
	return o, nil
}

// commit is the hash of a commit.
func (g *Git) commit(ctx context.Context, ref string) (string, error) {
	out, err := g.raw(ctx, nil, Cmd{Args: []string{"rev-parse", "--verify", "--quiet", "--end-of-options", ref + "^{commit}"}})
	if err != nil {
		return "", fmt.Errorf("there is no commit %s: %w", ref, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// contains reports whether the history of one commit has the other in it.
func (g *Git) contains(ctx context.Context, history, commit string) (bool, error) {
	_, err := g.raw(ctx, nil, Cmd{Args: []string{"merge-base", "--is-ancestor", commit, history}})
	var exit *ExitError
	if errors.As(err, &exit) && exit.Code == 1 {
		return false, nil
	}
	return err == nil, err
}

// join makes a merge of two commits without touching any file or branch.
func (g *Git) join(ctx context.Context, ours, theirs, message string) (string, error) {
	out, err := g.run(ctx, Cmd{Args: []string{"merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", ours, theirs}})
	var exit *ExitError
	if errors.As(err, &exit) && exit.Code == 1 {
		_, names, _ := strings.Cut(string(out), "\x00")
		return "", &WorktreeError{Reason: "both sides changed the same lines", Paths: fields([]byte(names)),
			Remedy: "merge by hand: git merge, then resolve; or undo the job"}
	}
	if err != nil {
		return "", err
	}
	tree, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\x00")
	out, err = g.run(ctx, Cmd{Args: []string{"commit-tree", "--no-gpg-sign", "-p", ours, "-p", theirs, "-F", "-", tree}, Stdin: []byte(message)})
	return strings.TrimSpace(string(out)), err
}
