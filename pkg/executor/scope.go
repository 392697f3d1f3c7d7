package executor

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/calling/schema"
	"github.com/adroit-run/adroit/internal/stored"
	"github.com/adroit-run/adroit/pkg/flow"
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

// Untrusted marks what follows as made from what others wrote.
func (sc *Scope) Untrusted() { sc.State.Taint |= tools.Untrusted }

// A raised is what the part of a workflow keeps whose own limits were raised. Where it was
// ended by one, it goes on with those that hold from there, so that what it did before
// is replayed as it was.
type raised struct {
	Raised []raise `json:"raised"`
}

type raise struct {
	From   string `json:"from"` // a path
	Limits Limits `json:"limits"`
}

// withinLimits is a *StopError if a limit of the task is reached.
func (sc *Scope) withinLimits() error {
	end, err := sc.exceeded()
	if err == nil && end != nil {
		return &StopError{*end}
	}
	return err
}

// exceeded is how the run ends at a limit of the task, nil if none is reached or a person
// has raised it since.
func (sc *Scope) exceeded() (*Outcome, error) {
	t, s := sc.Task, sc.State
	end := t.limits(s).exceeded(s.used())
	if end == nil || t.part == "" {
		return end, nil
	}
	var r stored.Value[raised]
	if _, err := sc.Run.Peek(t.part, &r); err != nil {
		return end, err
	}
	for _, more := range r.V.Raised {
		now := more.Limits.Or(s.Raised)
		if now.Or(t.Limits).exceeded(s.used()) == nil && flow.Compare(more.From, sc.Run.Next()) <= 0 {
			s.Raised = now
			return nil, nil
		}
	}
	return end, nil
}
