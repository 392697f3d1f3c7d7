package executor

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/executor/stepio"
	"github.com/adroit-run/adroit/internal/memory"
	"github.com/adroit-run/adroit/internal/spelling"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/permit"
	"github.com/adroit-run/adroit/pkg/tools"
)

// A SpawnLimits states which agents a task may have work for it, and how many. It
// is pinned with the task: agents are there by value.
type SpawnLimits struct {
	Agents  map[string]Spawnable `json:"agents"` // by name, those of its agents included
	Allowed []string             `json:"may"`    // names of those that the task itself may spawn
	Depth   int                  `json:"depth"`  // how many levels there may be below the task
	FanOut  int                  `json:"fan_out"`
	Total   int                  `json:"total"` // sub-agents in all, at every level below together
}

// A Spawnable is an agent that may be spawned: the workflow that runs it, and
// itself as pkg/agents encodes it.
type Spawnable struct {
	Workflow    string          `json:"workflow"`
	Description string          `json:"description,omitempty"`
	Needs       tools.Caps      `json:"needs,omitempty"` // of its tools
	Spec        json.RawMessage `json:"spec"`
}

// An SubAgentRequest is work for a sub-agent.
type SubAgentRequest struct {
	Agent  string // one that the task may spawn
	Prompt string
	Inputs map[string]json.RawMessage
	// Model is provider/model or a role, instead of the agent's own.
	Model string
	// Limits narrow the agent's own; what the task has left bounds them anyway.
	Limits Limits
	// Spec is the agent itself, as pkg/agents encodes it, in place of the one
	// that Agent names: with another prompt, or fewer tools. What it may need
	// is bounded by what that one needs.
	Spec json.RawMessage
	// Worktree gives the sub-agent a copy of the work tree to itself. What it
	// changed there is brought back when it is done; what somebody else has
	// changed meanwhile is a conflict, and reported instead of overwritten.
	Worktree bool
}

// A Parent is what a task hands on to a sub-agent. None of it widens what the
// sub-agent's own definition and the operator allow.
type Parent struct {
	Agent  string        `json:"agent"`
	Model  string        `json:"model"`              // of a sub-agent that names none
	Force  bool          `json:"force,omitempty"`    // also of one that does
	At     string        `json:"at,omitempty"`       // the worktree to work in, empty for the job's directory
	Home   string        `json:"home,omitempty"`     // the job's directory, of one in a worktree
	Limits Limits        `json:"limits,omitzero"`    // what the task has left
	Rules  []permit.Rule `json:"rules,omitempty"`    // of the task
	Grant  *tools.Caps   `json:"grant,omitempty"`    // what its tools may need, of one made on the fly
	Test   string        `json:"test,omitempty"`     // the command that runs the project's tests
	Spawn  *SpawnLimits  `json:"spawning,omitempty"` // of the task, with Depth and Total as they are below it
	Memory string        `json:"memory,omitempty"`   // off, if the task has none
}

// A subAgentInput is the input of a sub-agent's workflow: of the shape of
// agents.Input.
type subAgentInput struct {
	Spec     json.RawMessage            `json:"spec"`
	Prompt   string                     `json:"prompt,omitempty"`
	Inputs   map[string]json.RawMessage `json:"inputs,omitempty"`
	Model    string                     `json:"model,omitempty"`
	Limits   Limits                     `json:"limits,omitzero"`
	Approve  Approve                    `json:"approve,omitempty"`
	Mode     Mode                       `json:"mode,omitempty"`
	Patience time.Duration              `json:"patience_ns,omitempty"`
	Dir      string                     `json:"dir,omitempty"`
	Taint    tools.Taint                `json:"taint,omitempty"`
	Parent   *Parent                    `json:"parent"`
}

// About is the beginning of what is asked.
func (e subAgentInput) About() string {
	text := []rune(spelling.FirstLine(e.Prompt))
	if len(text) > 60 {
		return string(text[:59]) + "…"
	}
	return string(text)
}

// A SpawnError is a sub-agent that is not done, or was not spawned. What there
// is of a result is in the Report.
type SpawnError struct {
	Report Report
	Err    error // what it ended with; nil for conflicts
}

func (e *SpawnError) Error() string {
	return fmt.Sprintf("agent %s: %s: %s", e.Report.Agent, e.Report.Status, e.Report.Reason)
}

func (e *SpawnError) Unwrap() error { return e.Err }

// Spawn has a sub-agent work and waits for it. If it does not get done, or what
// it changed is in conflict, the error is a *SpawnError, which a workflow may
// handle; the report is complete in any case.
func (sc *Scope) Spawn(o SubAgentRequest) (Report, error) {
	if _, _, err := sc.exceeded(); err != nil { // what was raised counts for what is left
		return Report{Agent: o.Agent, Status: Failed}, err
	}
	rep, err := sc.spawn(o, sc.Task.remainingLimits(sc.State), 1)
	sc.State.addReports(rep)
	sc.State.Elapsed += rep.Took
	if err == nil && o.Worktree {
		err = sc.join(&rep)
	}
	return rep, err
}

// fanOut is how many sub-agents may work at once.
func (t *Task) fanOut() int {
	if t.Spawn != nil && t.Spawn.FanOut > 0 {
		return t.Spawn.FanOut
	}
	return stepio.SpawnFanOut
}

// SpawnAll has sub-agents work at once, no more at a time than the task's
// fan-out. All finish, whatever becomes of the others; the errors are joined.
// What those with worktrees changed is brought back in the order of the orders.
func (sc *Scope) SpawnAll(orders ...SubAgentRequest) ([]Report, error) {
	width := sc.Task.fanOut()
	var reps []Report
	var errs []error
	for some := range slices.Chunk(orders, width) {
		if _, _, err := sc.exceeded(); err != nil {
			return reps, err
		}
		room := sc.Task.remainingLimits(sc.State).share(len(some))
		got := make([]Report, len(some))
		failed := make([]error, len(some))
		at := make([]int, len(some))
		for i := range at {
			at[i] = i
		}
		_, err := flow.Map(sc.Run, at, func(r *flow.Run, i int) (struct{}, error) {
			s := *sc.State
			s.SubAgents.Agents += i // those before it are counted at the end
			got[i], failed[i] = (&Scope{Run: r, Task: sc.Task, State: &s}).spawn(some[i], room, len(some))
			if errors.As(failed[i], new(*SpawnError)) {
				return struct{}{}, nil
			}
			return struct{}{}, failed[i]
		})
		if err != nil {
			return append(reps, got...), err
		}
		longest := time.Duration(0)
		sc.State.addReports(got...)
		for i := range got {
			longest = max(longest, got[i].Took)
			if failed[i] == nil && some[i].Worktree {
				failed[i] = sc.join(&got[i])
			}
		}
		sc.State.Elapsed += longest
		reps, errs = append(reps, got...), append(errs, failed...)
	}
	return reps, errors.Join(errs...)
}

// spawn runs a sub-agent within limits, as one of several that are spawned at
// once. It changes nothing of the scope but its run.
func (sc *Scope) spawn(o SubAgentRequest, room Limits, siblings int) (Report, error) {
	rep := Report{Agent: o.Agent, Status: Failed}
	refused := func(format string, args ...any) (Report, error) {
		rep.Reason = fmt.Sprintf(format, args...)
		return rep, &SpawnError{Report: rep}
	}
	sp := sc.Task.Spawn
	switch {
	case sp != nil && sp.Depth <= 0:
		return refused("there are as many levels of agents as spawn.depth allows")
	case sp == nil || len(sp.Allowed) == 0:
		return refused("agent %s may spawn nobody; name those it may under spawn: in its file", sc.Task.Agent)
	case !slices.Contains(sp.Allowed, o.Agent):
		return refused("agent %s may not spawn %s%s; it may spawn %s", sc.Task.Agent, o.Agent, spelling.DidYouMean(o.Agent, sp.Allowed), strings.Join(sp.Allowed, ", "))
	case sc.State.SubAgents.Agents >= sp.Total:
		return refused("the job has had %d sub-agents, as many as spawn.total allows", sc.State.SubAgents.Agents)
	}
	if limit, words, err := sc.exceeded(); err != nil {
		return rep, err
	} else if limit != "" {
		rep.Status, rep.Limit = Limit, limit
		return refused("the task has reached %s", words)
	}
	who := sp.Agents[o.Agent]
	e := subAgentInput{
		Spec: who.Spec, Prompt: o.Prompt, Inputs: o.Inputs, Model: o.Model, Limits: o.Limits,
		Approve: sc.Task.Approve, Mode: sc.Task.Mode, Patience: sc.Task.Patience, Dir: sc.Task.Dir, Taint: sc.State.Taint,
		Parent: &Parent{Agent: sc.Task.Agent, Model: sc.Task.Model, Force: sc.Task.ForceModel, Test: sc.Task.Test, At: sc.Task.At, Home: sc.Task.Home, Limits: room,
			Rules: slices.Concat(narrowing(sc.Task.Rules), sc.State.Rules), Spawn: sp.share(sc.State.SubAgents.Agents, siblings)},
	}
	if sc.Task.Memory == memory.Off {
		e.Parent.Memory = memory.Off
	}
	if len(o.Spec) > 0 {
		e.Spec, e.Parent.Grant = o.Spec, &who.Needs
	}
	if o.Worktree {
		at := "w" + strings.ReplaceAll(sc.Run.Next(), ".", "-")
		got, err := flow.Do[stepio.Tree](sc.Run, stepio.WorktreeStep, stepio.AddWorktree, stepio.Tree{Name: at, Of: sc.Task.At})
		if se, ok := errors.AsType[*flow.StepError](err); ok {
			return refused("a worktree for it: %s", se.Message)
		}
		if err != nil {
			return rep, err
		}
		if e.Parent.Home == "" {
			e.Parent.Home = e.Dir
		}
		e.Parent.At, e.Dir = at, got.Dir
		rep.Joined = &Joined{Name: at, Kept: got.Dir}
	}
	out, err := flow.Child(sc.Run, o.Agent, who.Workflow, e, func(out json.RawMessage, err error) (string, any) {
		r := rep
		r.read(out, err)
		return r.line(), r.eventData()
	})
	rep.read(out, err)
	if rep.Status == Done {
		return rep, nil
	}
	return rep, &SpawnError{rep, err}
}

// share is what one of several sub-agents may spawn in turn: its share of what
// there may still be.
func (sp *SpawnLimits) share(had, siblings int) *SpawnLimits {
	own := *sp
	own.Allowed, own.Depth = nil, sp.Depth-1
	if own.Total = (sp.Total - had - 1) / siblings; own.Total <= 0 {
		own.Depth = 0
	}
	return &own
}

// narrowing are the rules that take rights away: what an agent is allowed is
// not for its sub-agents.
func narrowing(rules []permit.Rule) (out []permit.Rule) {
	for _, r := range rules {
		if r.Narrows() {
			out = append(out, r)
		}
	}
	return out
}

// remainingLimits is what the task's limits leave.
func (t *Task) remainingLimits(s *State) Limits {
	l, used := t.limits(s), s.used()
	if l.Tokens > 0 {
		l.Tokens = max(1, l.Tokens-used.Tokens)
	}
	if l.CostUSD > 0 {
		l.CostUSD = max(1e-9, l.CostUSD-used.CostUSD)
	}
	if l.Time > 0 {
		l.Time = max(1, l.Time-used.Time)
	}
	return l
}

// share is the part of one among n that work at once: what is spent is shared,
// time passes for all.
func (l Limits) share(n int) Limits {
	if n < 2 {
		return l
	}
	if l.Tokens > 0 {
		l.Tokens = max(1, l.Tokens/n)
	}
	if l.CostUSD > 0 {
		l.CostUSD /= float64(n)
	}
	return l
}

// Within gives l, bounded by what a parent has left: tokens, money and time.
func (l Limits) Within(p Limits) Limits {
	l = l.Or(DefaultLimits)
	if p.Tokens > 0 && (l.Tokens <= 0 || p.Tokens < l.Tokens) {
		l.Tokens = p.Tokens
	}
	if p.CostUSD > 0 && (l.CostUSD <= 0 || p.CostUSD < l.CostUSD) {
		l.CostUSD = p.CostUSD
	}
	if p.Time > 0 && (l.Time <= 0 || p.Time < l.Time) {
		l.Time = p.Time
	}
	return l
}
