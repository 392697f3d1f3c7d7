package toolstest

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/adroit-run/adroit/internal/work/process"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workspace"
)

// hermetic returns an Env that has every capability and reaches nothing: a
// fresh directory with one small file named path, and commands, network and
// model that refuse.
func hermetic(t testing.TB) *tools.Env {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "path"), []byte("one\ntwo\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	files, err := workspace.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = files.Close() })
	return &tools.Env{
		Job: "J0TEST", Key: "0.0", Files: files, Exec: noExec{},
		HTTP:  &http.Client{Transport: noNet{}},
		Model: llm.Func(noModel),
	}
}

// watch makes env collect its notes and returns them.
func watch(env *tools.Env) func() []string {
	var mu sync.Mutex
	var notes []string
	env.Emit = func(e event.Event) {
		mu.Lock()
		defer mu.Unlock()
		if e.Kind == event.Note {
			notes = append(notes, e.Text)
		}
	}
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return notes
	}
}

var errNoExec = errors.New("commands are refused in this test")

type noExec struct{}

func (noExec) Run(ctx context.Context, _ process.Cmd) (*process.Output, error) {
	return nil, errors.Join(ctx.Err(), errNoExec)
}

func (noExec) Start(ctx context.Context, _ process.Cmd) (*process.Process, error) {
	return nil, errors.Join(ctx.Err(), errNoExec)
}

func (noExec) Process(string) (*process.Process, bool) { return nil, false }
func (noExec) Close() error                            { return nil }

// An exhausted host has nothing left for commands and connections.
type exhausted struct {
	noExec
	err   error
	asked atomic.Bool
}

func (e *exhausted) Run(context.Context, process.Cmd) (*process.Output, error) {
	e.asked.Store(true)
	return nil, e.err
}

func (e *exhausted) Start(context.Context, process.Cmd) (*process.Process, error) {
	e.asked.Store(true)
	return nil, e.err
}

func (e *exhausted) RoundTrip(*http.Request) (*http.Response, error) {
	e.asked.Store(true)
	return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("socket", syscall.EMFILE)}
}

type noNet struct{}

func (noNet) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("the network is refused in this test")
}

func noModel(context.Context, *llm.Request, func(llm.Delta)) (*llm.Response, error) {
	return nil, &llm.Error{Kind: llm.Unreachable, Provider: "toolstest", Message: "models are refused in this test"}
}
