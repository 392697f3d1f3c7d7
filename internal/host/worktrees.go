package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
)

// trees performs the steps about worktrees.
func (h Host) trees() flow.Route {
	return flow.Route{
		Timeout: 10 * time.Minute, Safe: flow.Always,
		Handler: func(ctx context.Context, s flow.Step, _ event.Sink) (json.RawMessage, error) {
			var t turn.Tree
			if err := json.Unmarshal(s.Input, &t); err != nil {
				return nil, fmt.Errorf("worktree: decoding input: %w", err)
			}
			if h.Worktrees == nil {
				return nil, errors.New("there are no worktrees here")
			}
			if s.Name == turn.AddWorktree {
				var err error
				of := t.Of
				if t, err = h.Worktrees.Add(ctx, s.Job, t.Name, of); err != nil {
					return nil, errors.Join(h.fault(s.Job, of), err)
				}
				return json.Marshal(t)
			}
			if s.Name == turn.DropWorktree {
				if err := h.Worktrees.Drop(ctx, s.Job, t.Name); err != nil {
					return nil, errors.Join(h.fault(s.Job, t.Of), err)
				}
				return json.Marshal(t)
			}
			got, err := h.Worktrees.Join(ctx, s.Job, s.Path, t.Name, t.Of)
			if err != nil {
				return nil, errors.Join(h.fault(s.Job, t.Of), err)
			}
			return json.Marshal(got)
		},
		Describe: func(s flow.Step, out json.RawMessage) (string, json.RawMessage) {
			if s.Name == turn.AddWorktree {
				var t turn.Tree
				if json.Unmarshal(out, &t) != nil {
					return "", nil
				}
				text := fmt.Sprintf("%d files copied", t.Files)
				if t.Omitted > 0 {
					text += fmt.Sprintf(", without %s", strings.Join(t.Left[:min(len(t.Left), 3)], ", "))
				}
				if more := t.Omitted - min(len(t.Left), 3); more > 0 {
					text += fmt.Sprintf(" and %d more", more)
				}
				data, _ := json.Marshal(t) // strings
				return text, data
			}
			if s.Name == turn.DropWorktree {
				return "removed", nil
			}
			var j executor.Joined
			if json.Unmarshal(out, &j) != nil {
				return "", nil
			}
			text := fmt.Sprintf("%d files brought back", len(j.Paths))
			if len(j.Paths) == 1 {
				text = "1 file brought back"
			}
			if len(j.Conflicts) > 0 {
				text += fmt.Sprintf(", %d in conflict: %s", len(j.Conflicts), j.ConflictList())
			}
			j.Diff, j.DiffOmitted = nil, nil
			data, _ := json.Marshal(j) // strings
			return text, data
		},
	}
}
