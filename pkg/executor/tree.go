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

// Steps about the worktrees of sub-agents.
const (
	worktree = "worktree"
	addTree  = "add"
	joinTree = "join"
)

// Worktrees gives sub-agents that write at once a copy of the work tree each.
// Its methods are idempotent: a step that was interrupted is performed again.
type Worktrees interface {
	// Add makes a copy named name of the work tree of, which is the job's own if
	// empty, as it is now, and gives its directory.
	Add(ctx context.Context, job, name, of string) (dir string, err error)
	// Join brings what was changed in name to of, as the step at path, so that it
	// can be undone, and takes the copy away unless there are conflicts.
	Join(ctx context.Context, job, path, name, of string) (Joined, error)
}

// A Tree is the input of a step about a worktree, and its output.
type Tree struct {
	Name string `json:"name"`
	Of   string `json:"of,omitempty"`
	Dir  string `json:"dir,omitempty"`
}

// A Joined says what became of the changes in a worktree.
type Joined struct {
	Name  string   `json:"name"`
	Paths []string `json:"paths,omitempty"` // that have changed here
	// Conflicts are paths that somebody else has changed too: they are as they
	// were here, and Kept is where the other version lies.
	Conflicts []string        `json:"conflicts,omitempty"`
	Kept      string          `json:"kept,omitempty"`
	Diff      json.RawMessage `json:"diff,omitempty"` // the artifact "diff" after it
}

// join brings back what a sub-agent has changed.
func (sc *Scope) join(rep *Report) error {
	got, err := flow.Do[Joined](sc.Run, worktree, joinTree, Tree{Name: rep.Joined.Name, Of: sc.Task.At})
	if se, ok := asStep(err); ok {
		rep.Status, rep.Reason = Failed, "what it changed could not be brought back: "+se.Message
		return &SpawnError{*rep, err}
	}
	if err != nil {
		return err
	}
	if got.Diff != nil {
		sc.State.bind(worktree, map[string]json.RawMessage{"diff": got.Diff})
	}
	rep.Joined = &got
	if len(got.Conflicts) == 0 {
		return nil
	}
	rep.Reason = fmt.Sprintf("others have changed what it changed too: %s; its version is in %s", strings.Join(got.Conflicts, ", "), got.Kept)
	return &SpawnError{Report: *rep}
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
				if t.Dir, err = h.Worktrees.Add(ctx, s.Job, t.Name, t.Of); err != nil {
					return nil, err
				}
				return json.Marshal(t)
			}
			got, err := h.Worktrees.Join(ctx, s.Job, s.Path, t.Name, t.Of)
			if err != nil {
				return nil, err
			}
			return json.Marshal(got)
		},
		Describe: func(s flow.Step, out json.RawMessage) (string, json.RawMessage) {
			var j Joined
			if s.Name != joinTree || json.Unmarshal(out, &j) != nil {
				return "", nil
			}
			text := fmt.Sprintf("%d files brought back", len(j.Paths))
			if len(j.Conflicts) > 0 {
				text += fmt.Sprintf(", %d in conflict: %s", len(j.Conflicts), strings.Join(j.Conflicts, ", "))
			}
			j.Diff = nil
			data, _ := json.Marshal(j) // strings
			return text, data
		},
	}
}
