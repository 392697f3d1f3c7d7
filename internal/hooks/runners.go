package hooks

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/adroit-run/adroit/internal/host"
	"github.com/adroit-run/adroit/pkg/tools"
)

// Runners run hooks in the directory that a call is about: the job's, or the
// worktree of a sub-agent. They are safe for concurrent use.
type Runners struct {
	dir  func(at string) (string, error)
	list []Hook

	mu      sync.Mutex
	runners map[string]*Runner
}

// In returns what runs hooks; dir is the directory that a call is about.
func In(dir func(at string) (string, error), list []Hook) *Runners {
	return &Runners{dir: dir, list: list}
}

// Around runs the hooks around a call.
func (h *Runners) Around(next host.ToolHandler) host.ToolHandler {
	if len(h.list) == 0 {
		return next
	}
	return func(ctx context.Context, p host.Invocation) (tools.Result, error) {
		r, err := h.at(p.At)
		if err != nil {
			return tools.Result{}, err
		}
		return r.Middleware(next)(ctx, p)
	}
}

func (h *Runners) at(name string) (*Runner, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if r, ok := h.runners[name]; ok {
		return r, nil
	}
	dir, err := h.dir(name)
	if err != nil {
		return nil, err
	}
	if h.runners == nil {
		h.runners = map[string]*Runner{}
	}
	h.runners[name] = New(dir, h.list)
	return h.runners[name], nil
}

// Close kills what still runs.
func (h *Runners) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(h.runners)) {
		errs = append(errs, h.runners[name].Close())
	}
	return errors.Join(errs...)
}
