package work

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/guard/secret"
)

// A failure is how the command ended: the input problem of the agent.
type failure struct {
	Message string            `json:"message"`
	Code    int               `json:"exit_code"`
	Output  string            `json:"output"`
	Facts   map[string]string `json:"facts,omitempty"`
	Files   []string          `json:"files"`

	Installs []string `json:"installs,omitempty"` // commands that may get what it misses
}

// hidden is f without secrets: it is kept with the job.
func (f failure) hidden(r *secret.Redactor) failure {
	f.Output, _ = r.String(f.Output)
	return f
}

// first runs the command as a shell would, with the streams and the variables of
// this process: what works is not disturbed. It returns nil if it works.
func first(ctx context.Context, e *kit.Env, dir, text string, quiet bool) (*failure, error) {
	kept := &headTail{}
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", text)
	cmd.Dir, cmd.Stdin = dir, e.In
	cmd.Stdout, cmd.Stderr = tee{e.Out, kept}, tee{e.Err, kept}
	if quiet {
		cmd.Stdout = tee{e.Err, kept}
	}
	if f, ok := e.In.(*os.File); ok {
		cmd.Stdin = f // no goroutine that reads what the command does not want
	}
	cmd.Cancel = func() error {
		sig := syscall.SIGTERM
		if stop, ok := errors.AsType[*kit.StopError](context.Cause(ctx)); ok {
			sig = stop.Signal
		}
		return cmd.Process.Signal(sig)
	}
	cmd.WaitDelay = 5 * time.Second
	err := cmd.Run()
	var ended *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return nil, kit.Stopped(ctx)
	case err == nil:
		return nil, nil
	case !errors.As(err, &ended):
		return nil, kit.Fail(fmt.Errorf("the command could not be started: %w", err), "")
	}
	f := &failure{Code: ended.ExitCode(), Output: kept.text()}
	if s, ok := ended.Sys().(syscall.WaitStatus); ok && s.Signaled() {
		f.Code = 128 + int(s.Signal())
	}
	f.Message = fmt.Sprintf("exit code %d", f.Code)
	f.Facts, f.Files, f.Installs = problem.Facts(dir, text, f.Output), problem.Files(dir, f.Output), problem.InstallsIn(dir, f.Output)
	return f, nil
}

// A tee passes on what is written and keeps a part of it.
type tee struct {
	to interface {
		Write([]byte) (int, error)
	}
	keep *headTail
}

func (t tee) Write(p []byte) (int, error) {
	t.keep.add(p)
	return t.to.Write(p)
}

// A headTail keeps the head and the tail of what it is given. It is safe for
// concurrent use.
type headTail struct {
	mu         sync.Mutex
	head, tail []byte
	cut        bool
}

const mostHead, mostTail = 4 << 10, 12 << 10

func (h *headTail) add(p []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := min(len(p), mostHead-len(h.head))
	h.head = append(h.head, p[:n]...)
	if h.tail = append(h.tail, p[n:]...); len(h.tail) > 4*mostTail {
		h.tail, h.cut = append([]byte(nil), h.tail[len(h.tail)-mostTail:]...), true
	}
}

func (h *headTail) text() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	tail := h.tail
	if len(tail) > mostTail {
		tail, h.cut = tail[len(tail)-mostTail:], true
	}
	if h.cut {
		return string(h.head) + "\n[...]\n" + string(tail)
	}
	return string(h.head) + string(tail)
}
