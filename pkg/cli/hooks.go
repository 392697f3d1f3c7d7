package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/hooks"
	"github.com/adroit-run/adroit/pkg/tools"
)

// hooksIn are the configured hooks with ~/ written out for a home directory.
func (c *config) hooksIn(home string) []hooks.Hook {
	list := slices.Clone(c.Hooks)
	for i, h := range list {
		if len(h.Command) == 0 {
			continue
		}
		if rest, ok := strings.CutPrefix(h.Command[0], "~/"); ok && home != "" {
			list[i].Command = append([]string{filepath.Join(home, rest)}, h.Command[1:]...)
		}
	}
	return list
}

// checkHooks tells what is wrong with the hooks.
func (c *config) checkHooks(where string) error {
	// Which home it is does not matter for whether a path is absolute.
	if err := hooks.Check(c.hooksIn("/")); err != nil {
		return broken(fmt.Errorf("%s: %w", where, err), "docs/config.md has an example")
	}
	return nil
}

// hookSettings are the hooks as a setting.
func (c *config) hookSettings() []setting {
	if len(c.Hooks) == 0 {
		return []setting{{"hooks", "none", false}}
	}
	var words []string
	for _, h := range c.Hooks {
		words = append(words, h.String())
	}
	return []setting{{"hooks", strings.Join(words, "; "), true}}
}

// around is what happens around a call of a tool here: the operator's hooks
// see the call first and the result last.
func (c *config) around(b *adroit.Benches, h *hookRooms) []func(executor.Performer) executor.Performer {
	list := []func(executor.Performer) executor.Performer{h.around}
	if c.Diagnostics != "off" {
		list = append(list, b.Judge)
	}
	return list
}

// hookRooms run hooks in the directory that a call is about: the job's, or the
// worktree of a sub-agent.
type hookRooms struct {
	dir  func(at string) (string, error)
	list []hooks.Hook

	mu    sync.Mutex
	rooms map[string]*hooks.Runner
}

func (h *hookRooms) around(next executor.Performer) executor.Performer {
	if len(h.list) == 0 {
		return next
	}
	return func(ctx context.Context, p executor.Performance) (tools.Result, error) {
		r, err := h.room(p.At)
		if err != nil {
			return tools.Result{}, err
		}
		return r.Around(next)(ctx, p)
	}
}

func (h *hookRooms) room(at string) (*hooks.Runner, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if r, ok := h.rooms[at]; ok {
		return r, nil
	}
	dir, err := h.dir(at)
	if err != nil {
		return nil, err
	}
	if h.rooms == nil {
		h.rooms = map[string]*hooks.Runner{}
	}
	h.rooms[at] = hooks.New(dir, h.list)
	return h.rooms[at], nil
}

// Close kills what still runs.
func (h *hookRooms) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	var errs []error
	for _, at := range sorted(h.rooms) {
		errs = append(errs, h.rooms[at].Close())
	}
	return errors.Join(errs...)
}
