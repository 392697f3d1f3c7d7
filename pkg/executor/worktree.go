package executor

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/adroit-run/adroit/internal/executor/stepio"
	"github.com/adroit-run/adroit/pkg/flow"
)

// A Joined states what became of the changes in a worktree.
type Joined struct {
	Name  string   `json:"name"`
	Paths []string `json:"paths,omitempty"` // that have changed here
	// Conflicts are paths that are as they were here, most of them because
	// somebody else has changed them too: Why has the reason for each. Kept is where the
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
	got, err := flow.Do[Joined](sc.Run, stepio.WorktreeStep, stepio.JoinWorktree, stepio.Tree{Name: rep.Joined.Name, Of: sc.Task.At})
	if se, ok := errors.AsType[*flow.StepError](err); ok {
		rep.Status, rep.Reason = Failed, "what it changed could not be brought back: "+se.Message
		return &SpawnError{*rep, err}
	}
	if err != nil {
		return err
	}
	if got.Diff != nil {
		sc.State.bind(stepio.WorktreeStep, map[string]json.RawMessage{"diff": got.Diff})
	}
	rep.Joined = &got
	if len(got.Conflicts) == 0 {
		return nil
	}
	rep.Reason = fmt.Sprintf("not brought back: %s; its version is in %s", got.ConflictList(), got.Kept)
	return &SpawnError{Report: *rep}
}

// ConflictList names the paths in conflict, each with the reason.
func (j *Joined) ConflictList() string {
	var parts []string
	for i, p := range j.Conflicts {
		if i < len(j.Why) {
			p += " (" + j.Why[i] + ")"
		}
		parts = append(parts, p)
	}
	return strings.Join(parts, ", ")
}

// InTree makes a copy of the work tree, and returns a scope like sc whose tools and
// sub-agents work there. It belongs to the same branch. A step error says why there
// is none.
func (sc *Scope) InTree() (*Scope, error) {
	name := "w" + strings.ReplaceAll(sc.Run.Next(), ".", "-")
	got, err := flow.Do[stepio.Tree](sc.Run, stepio.WorktreeStep, stepio.AddWorktree, stepio.Tree{Name: name, Of: sc.Task.At})
	if err != nil {
		return nil, err
	}
	t := *sc.Task
	if t.Home == "" {
		t.Home = t.Dir
	}
	t.At, t.Dir = name, got.Dir
	return &Scope{Run: sc.Run, Task: &t, State: sc.State}, nil
}

// JoinTree brings back what was changed in a copy of InTree, as one step.
func (sc *Scope) JoinTree(name string) (Joined, error) {
	return flow.Do[Joined](sc.Run, stepio.WorktreeStep, stepio.JoinWorktree, stepio.Tree{Name: name, Of: sc.Task.At})
}

// DropTree removes a copy of InTree with all that is in it.
func (sc *Scope) DropTree(name string) error {
	_, err := flow.Do[stepio.Tree](sc.Run, stepio.WorktreeStep, stepio.DropWorktree, stepio.Tree{Name: name, Of: sc.Task.At})
	return err
}
