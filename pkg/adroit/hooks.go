package adroit

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/adroit-run/adroit/internal/executor/handler"
	"github.com/adroit-run/adroit/internal/hooks"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/tools"
)

// hookRunners run hooks in the directory that a call is about: the job's, or the
// worktree of a sub-agent.
type hookRunners struct {
	dir  func(at string) (string, error)
	list []hooks.Hook

	mu      sync.Mutex
	runners map[string]*hooks.Runner
}

func (h *hookRunners) around(next handler.ToolHandler) handler.ToolHandler {
	if len(h.list) == 0 {
		return next
	}
	return func(ctx context.Context, p handler.Invocation) (tools.Result, error) {
		r, err := h.at(p.At)
		if err != nil {
			return tools.Result{}, err
		}
		return r.Middleware(next)(ctx, p)
	}
}

func (h *hookRunners) at(name string) (*hooks.Runner, error) {
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
		h.runners = map[string]*hooks.Runner{}
	}
	h.runners[name] = hooks.New(dir, h.list)
	return h.runners[name], nil
}

// notify runs the hooks of the end of a run. It is outside of the job: nothing
// depends on it, and Close waits for it, for as long as it may take. The directory
// is ours: the job's may be gone.
func (rt *Runtime) notify(j *jobs.Job) {
	if j == nil || !slices.ContainsFunc(rt.o.Hooks, func(h hooks.Hook) bool { return h.When == hooks.Ended }) {
		return
	}
	rt.runs.Go(func() {
		about := *j
		about.Title, _ = rt.o.Secrets.String(j.Title)
		r := hooks.New(rt.data(), rt.o.Hooks)
		err := errors.Join(r.Notify(context.WithoutCancel(rt.ctx), &about), r.Close())
		if err != nil {
			rt.warn("%s: %v", j.ID, err)
		}
	})
}

// Close kills what still runs.
func (h *hookRunners) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(h.runners)) {
		errs = append(errs, h.runners[name].Close())
	}
	return errors.Join(errs...)
}
