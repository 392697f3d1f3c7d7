package executor

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/schema"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
)

// A Scope is what a workflow of an agent's own has to work with: the run it is
// part of, the task that was pinned, and the state so far, which keeps the
// accounts. The function that gets it decides by itself what comes next:
//
//	func greet(sc *executor.Scope) error {
//		plan, err := executor.AITurn[Plan](sc, executor.Turn{Prompt: "Plan: " + sc.Task.Prompt})
//		if err != nil {
//			return err
//		}
//		for _, p := range plan.Parts {
//			if _, err := sc.Spawn(executor.SubAgentRequest{Agent: "worker", Prompt: p}); err != nil {
//				return err
//			}
//		}
//		return nil
//	}
//
// It is replayed after a crash: no clocks, randomness, goroutines, environment
// or map order. An error that it handles is handled; when the engine itself
// has ended the run, whatever it does next does nothing. A Scope is not safe
// for concurrent use; [Parallel] gives each branch one of its own.
type Scope struct {
	Run   *flow.Run
	Task  *Task
	State *State
}

// NewScope begins with a task.
func NewScope(r *flow.Run, t Task) *Scope {
	t.Messages = false // a workflow decides by itself what its agent is asked
	if part, rest, _ := strings.Cut(r.Next(), "."); rest != "" && !strings.Contains(rest, ".") {
		t.part = part + "."
	}
	return &Scope{Run: r, Task: &t, State: &State{securityState: securityState{Taint: t.Taint}}}
}

// Tool has one of the task's tools called, with arguments that are encoded as
// JSON; nil is none. That the tool failed is in the reply, not an error.
func (sc *Scope) Tool(name string, args any) (ToolResult, error) {
	raw, err := json.Marshal(args)
	if err != nil {
		return ToolResult{}, fmt.Errorf("%s: encoding arguments: %w", name, err)
	}
	if string(raw) == "null" {
		raw = json.RawMessage("{}")
	}
	replies, err := sc.Act(llm.Call{Name: name, Args: raw})
	if err != nil {
		return ToolResult{}, err
	}
	return replies[0], nil
}

// Has reports whether the task has a tool.
func (sc *Scope) Has(tool string) bool { return sc.Task.tool(tool) != nil }

// CheckFault returns why calls of a tool of the task cannot be a check, "" if
// they can. A task that was pinned before tools said what they prove has none.
func (sc *Scope) CheckFault(tool string, args json.RawMessage) string {
	said := func(t Tool) bool { return t.Proves != "" }
	t := sc.Task.tool(tool)
	if t == nil || !slices.ContainsFunc(sc.Task.Tools, said) {
		return ""
	}
	if !said(*t) {
		return fmt.Sprintf("%s cannot be a check: nothing says what its success proves", tool)
	}
	schema, err := schema.Compile(t.Input)
	if err != nil {
		return err.Error()
	}
	fault, hint := tools.Tool{Metadata: tools.Metadata{Name: tool, Proves: t.Proves, ProvesWith: t.ProvesWith}, Input: schema}.CheckFault(args)
	if fault != "" {
		fault += "; " + hint
	}
	return fault
}

// Note logs a line for watchers, once.
func (sc *Scope) Note(format string, args ...any) error { return sc.Run.Note(format, args...) }

// Value decodes an artifact that the run has produced or was given, and
// reports whether there is one.
func (sc *Scope) Value(name string, v any) (bool, error) {
	raw := sc.Task.value(sc.State, name)
	if raw == nil {
		return false, nil
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return true, fmt.Errorf("artifact %s: %w", name, err)
	}
	return true, nil
}

// Bind makes v an artifact of the run.
func (sc *Scope) Bind(name string, v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("artifact %s: %w", name, err)
	}
	sc.State.bind("", map[string]json.RawMessage{name: raw})
	return nil
}

// Parallel runs f over xs in branches, each with a scope of its own that has
// the artifacts so far and an equal share of what the task may still spend.
// Siblings of a failed branch finish, and what they return is kept; the errors
// are joined. What the branches made and spent is taken over in their order.
func Parallel[In, Out any](sc *Scope, xs []In, f func(*Scope, In) (Out, error)) ([]Out, error) {
	branches, at := sc.branches(len(xs))
	outs := make([]Out, len(xs))
	_, err := flow.Map(sc.Run, at, func(r *flow.Run, i int) (struct{}, error) {
		var err error
		branches[i].Run = r
		outs[i], err = f(branches[i], xs[i])
		return struct{}{}, err
	})
	sc.mergeBranches(branches)
	return outs, err
}

// Race is Parallel until a branch has won, which stops the others: see [flow.Race].
func Race[In, Out any](sc *Scope, xs []In, f func(*Scope, In) (out Out, won bool, err error)) (outs []Out, winner int, err error) {
	branches, at := sc.branches(len(xs))
	outs = make([]Out, len(xs))
	_, winner, err = flow.Race(sc.Run, at, func(r *flow.Run, i int) (struct{}, bool, error) {
		var won bool
		var err error
		branches[i].Run = r
		outs[i], won, err = f(branches[i], xs[i])
		return struct{}{}, won, err
	})
	sc.mergeBranches(branches)
	return outs, winner, err
}

// branches are the scopes of n branches, and their numbers.
func (sc *Scope) branches(n int) (scopes []*Scope, at []int) {
	for i := range n {
		scopes, at = append(scopes, sc.branch(n)), append(at, i)
	}
	return scopes, at
}

// mergeBranches takes over what branches have done.
func (sc *Scope) mergeBranches(branches []*Scope) {
	var longest time.Duration // branches begin at nothing
	for _, b := range branches {
		sc.State.merge(b.State)
		longest = max(longest, b.State.Elapsed)
	}
	for _, b := range branches {
		sc.State.inherit(b.State.left())
	}
	sc.State.Elapsed += longest
}

// branch is a scope for one of n branches.
func (sc *Scope) branch(n int) *Scope {
	t := *sc.Task
	t.Limits, t.part = t.remainingLimits(sc.State).share(n), ""
	s := &State{securityState: securityState{Taint: sc.State.Taint, Rules: sc.State.Rules}, Produced: Produced{Artifacts: map[string]Artifact{}}}
	for name, a := range sc.State.Artifacts {
		s.Artifacts[name] = a
	}
	return &Scope{Task: &t, State: s}
}

// merge takes over what a branch has done, but its time: branches work at once.
func (s *State) merge(b *State) {
	for _, name := range b.Names() {
		if a := b.Artifacts[name]; a.Version > s.Artifacts[name].Version {
			s.bind(a.Tool, map[string]json.RawMessage{name: a.Value})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(b.Called)) {
		if s.Called == nil {
			s.Called = map[string]int{}
		}
		s.Called[name] += b.Called[name]
	}
	s.Turns += b.Turns
	s.Calls += b.Calls
	s.Usage = s.Usage.Add(b.Usage)
	s.Cost += b.Cost
	s.Taint |= b.Taint
	s.SubAgents = s.SubAgents.add(b.SubAgents)
	if b.Last != "" {
		s.Last = b.Last
	}
	for _, m := range slices.Sorted(maps.Keys(b.ByModel)) {
		if s.ByModel == nil {
			s.ByModel = map[string]llm.Usage{}
		}
		s.ByModel[m] = s.ByModel[m].Add(b.ByModel[m])
	}
}

// Untrusted marks what follows as made from what others wrote.
func (sc *Scope) Untrusted() { sc.State.Taint |= tools.Untrusted }
