package executor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/flow"
)

// Names of the steps of kind [WorktreeStep].
const (
	addTree  = "add"
	joinTree = "join"
)

// Worktrees gives sub-agents that write at once a copy of the work tree each.
// Its methods are idempotent: a step that was interrupted is performed again.
type Worktrees interface {
	// Add makes a copy named name of the work tree of, which is the job's own if
	// empty, as it is now, and says where it is.
	Add(ctx context.Context, job, name, of string) (Tree, error)
	// Join brings what was changed in name to of, as the step at path, so that it
	// can be undone, and takes the copy away unless there are conflicts.
	Join(ctx context.Context, job, path, name, of string) (Joined, error)
}

// A Tree is the input of a step about a worktree, and its output.
type Tree struct {
	Name string `json:"name"`
	Of   string `json:"of,omitempty"`
	Dir  string `json:"dir,omitempty"`

	Files   int      `json:"files,omitempty"`      // that were copied
	Left    []string `json:"not_copied,omitempty"` // the first of what was not: ignored, secret, in another repository
	Omitted int      `json:"omitted,omitempty"`    // how many that are
}

// A Joined says what became of the changes in a worktree.
type Joined struct {
	Name  string   `json:"name"`
	Paths []string `json:"paths,omitempty"` // that have changed here
	// Conflicts are paths that are as they were here, most of them because
	// somebody else has changed them too: Why says so of each. Kept is where the
	// other version lies, and Branch has it if there is a repository. Of a
	// sub-agent that did not get done, Kept is what it left.
	Conflicts []string        `json:"conflicts,omitempty"`
	Why       []string        `json:"why,omitempty"`
	Kept      string          `json:"kept,omitempty"`
	Branch    string          `json:"branch,omitempty"`
	Diff      json.RawMessage `json:"diff,omitempty"` // the artifact "diff" after it
}

// join brings back what a sub-agent has changed.
func (sc *Scope) join(rep *Report) error {
	got, err := flow.Do[Joined](sc.Run, WorktreeStep, joinTree, Tree{Name: rep.Joined.Name, Of: sc.Task.At})
	if se, ok := asStep(err); ok {
		rep.Status, rep.Reason = Failed, "what it changed could not be brought back: "+se.Message
		return &SpawnError{*rep, err}
	}
	if err != nil {
		return err
	}
	if got.Diff != nil {
		sc.State.bind(WorktreeStep, map[string]json.RawMessage{"diff": got.Diff})
	}
	rep.Joined = &got
	if len(got.Conflicts) == 0 {
		return nil
	}
	rep.Reason = fmt.Sprintf("not brought back: %s; its version is in %s", got.conflicts(), got.Kept)
	return &SpawnError{Report: *rep}
}

// conflicts names the paths in conflict, each with the reason.
func (j *Joined) conflicts() string {
	var parts []string
	for i, p := range j.Conflicts {
		if i < len(j.Why) {
			p += " (" + j.Why[i] + ")"
		}
		parts = append(parts, p)
	}
	return strings.Join(parts, ", ")
}

// trees performs the steps about worktrees.
func (h Host) trees() flow.Route {
	return flow.Route{
		Timeout: 10 * time.Minute, Safe: flow.Always,
		Handler: func(ctx context.Context, s flow.Step, _ event.Sink) (json.RawMessage, error) {
			var t Tree
			if err := json.Unmarshal(s.Input, &t); err != nil {
				return nil, fmt.Errorf("worktree: decoding input: %w", err)
			}
			if h.Worktrees == nil {
				return nil, errors.New("there are no worktrees here")
			}
			if s.Name == addTree {
				var err error
				of := t.Of
				if t, err = h.Worktrees.Add(ctx, s.Job, t.Name, of); err != nil {
					return nil, errors.Join(h.fault(s.Job, of), err)
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
			if s.Name == addTree {
				var t Tree
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
			var j Joined
			if json.Unmarshal(out, &j) != nil {
				return "", nil
			}
			text := fmt.Sprintf("%d files brought back", len(j.Paths))
			if len(j.Paths) == 1 {
				text = "1 file brought back"
			}
			if len(j.Conflicts) > 0 {
				text += fmt.Sprintf(", %d in conflict: %s", len(j.Conflicts), j.conflicts())
			}
			j.Diff = nil
			data, _ := json.Marshal(j) // strings
			return text, data
		},
	}
}
