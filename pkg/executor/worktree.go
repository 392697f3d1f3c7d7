package executor

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/adroit-run/adroit/internal/stored"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/flow"
)

// join brings back what a sub-agent has changed.
func (sc *Scope) join(rep *Report) error {
	got, err := sc.JoinTree(rep.Joined.Name)
	if se, ok := errors.AsType[*flow.StepError](err); ok {
		rep.Status, rep.Reason = Failed, "what it changed could not be brought back: "+se.Message
		return &SpawnError{*rep, err}
	}
	if err != nil {
		return err
	}
	if got.Diff != nil {
		bound := map[string]json.RawMessage{"diff": got.Diff}
		if got.DiffOmitted != nil {
			bound[turn.DiffOmitted] = got.DiffOmitted
		}
		sc.State.bind(turn.WorktreeStep, bound)
	}
	rep.Joined = &got
	if len(got.Conflicts) == 0 {
		return nil
	}
	rep.Reason = fmt.Sprintf("not brought back: %s; its version is in %s", got.ConflictList(), got.Kept)
	return &SpawnError{Report: *rep}
}

// addTree makes a copy of the work tree, with a name that follows from the place in the run.
func (sc *Scope) addTree() (turn.Tree, error) {
	name := "w" + strings.ReplaceAll(sc.Run.Next(), ".", "-")
	got, err := stored.Do[turn.Tree](sc.Run, turn.WorktreeStep, turn.AddWorktree, turn.Tree{Name: name, Of: sc.Task.At})
	got.Name = name
	return got, err
}

// InTree makes a copy of the work tree, and returns a scope like sc whose tools and
// sub-agents work there. It belongs to the same branch. A step error says why there
// is none.
func (sc *Scope) InTree() (*Scope, error) {
	got, err := sc.addTree()
	if err != nil {
		return nil, err
	}
	t := *sc.Task
	if t.Home == "" {
		t.Home = t.Dir
	}
	t.At, t.Dir = got.Name, got.Dir
	return &Scope{Run: sc.Run, Task: &t, State: sc.State}, nil
}

// JoinTree brings back what was changed in a copy of InTree, as one step.
func (sc *Scope) JoinTree(name string) (Joined, error) {
	return stored.Do[Joined](sc.Run, turn.WorktreeStep, turn.JoinWorktree, turn.Tree{Name: name, Of: sc.Task.At})
}

// DropTree removes a copy of InTree with all that is in it.
func (sc *Scope) DropTree(name string) error {
	_, err := stored.Do[turn.Tree](sc.Run, turn.WorktreeStep, turn.DropWorktree, turn.Tree{Name: name, Of: sc.Task.At})
	return err
}
