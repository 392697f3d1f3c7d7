package executor

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/executor/compaction"
	"github.com/adroit-run/adroit/internal/spelling"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/llm"
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

// Bounds of SpawnLimits that set none.
const (
	SpawnDepth  = 1
	SpawnFanOut = 8
	SpawnTotal  = 50
)

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
	Agent  string       `json:"agent"`
	Model  string       `json:"model"`              // of a sub-agent that names none
	Force  bool         `json:"force,omitempty"`    // also of one that does
	At     string       `json:"at,omitempty"`       // the worktree to work in, empty for the job's directory
	Home   string       `json:"home,omitempty"`     // the job's directory, of one in a worktree
	Limits Limits       `json:"limits,omitzero"`    // what the task has left
	Rules  permit.Rules `json:"rules,omitempty"`    // of the task
	Grant  *tools.Caps  `json:"grant,omitempty"`    // what its tools may need, of one made on the fly
	Test   string       `json:"test,omitempty"`     // the command that runs the project's tests
	Spawn  *SpawnLimits `json:"spawning,omitempty"` // of the task, with Depth and Total as they are below it
}

// An SubAgentInput is the input of a sub-agent's workflow: of the shape of
// agents.Input.
type SubAgentInput struct {
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
func (e SubAgentInput) About() string {
	text := []rune(compaction.FirstLine(e.Prompt))
	if len(text) > 60 {
		return string(text[:59]) + "…"
	}
	return string(text)
}

// A Report is what became of an order.
type Report struct {
	Agent     string                     `json:"agent"`
	Status    string                     `json:"status"` // of an Outcome
	Reason    string                     `json:"reason,omitempty"`
	Limit     string                     `json:"limit,omitempty"`   // that was reached: turns, tokens, cost, time
	Summary   string                     `json:"summary,omitempty"` // its last words, or those of its finish
	Output    json.RawMessage            `json:"output,omitempty"`  // of an agent with typed output
	Artifacts map[string]json.RawMessage `json:"artifacts,omitempty"`
	Turns     int                        `json:"turns,omitempty"`
	Took      time.Duration              `json:"took_ns,omitempty"` // its work, waiting for people not counted
	Usage     SubAgentUsage              `json:"below"`             // what it has taken, its own sub-agents included
	Joined    *Joined                    `json:"joined,omitempty"`  // of one with a worktree
	Taint     tools.Taint                `json:"taint,omitempty"`

	raisedRest Limits // of limits that were raised for it: see Reopener
}

// OK reports whether the sub-agent is done and what it changed is here.
func (r *Report) OK() bool {
	return r.Status == Done && (r.Joined == nil || len(r.Joined.Conflicts) == 0)
}

// As decodes the typed output.
func (r *Report) As(v any) error {
	if len(r.Output) == 0 {
		return fmt.Errorf("agent %s has given no output", r.Agent)
	}
	if err := json.Unmarshal(r.Output, v); err != nil {
		return fmt.Errorf("the output of agent %s: %w", r.Agent, err)
	}
	return nil
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
	return SpawnFanOut
}

// SpawnAll has sub-agents work at once, no more at a time than the task's
// fan-out. All finish, whatever becomes of the others; the errors are joined.
// What those with worktrees changed is brought back in the order of the orders.
func (sc *Scope) SpawnAll(orders ...SubAgentRequest) ([]Report, error) {
	width := sc.Task.fanOut()
	var reps []Report
	var errs []error
	for some := range slices.Chunk(orders, width) {
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
	if limit, words := sc.Task.limits(sc.State).exceeded(sc.State); limit != "" {
		rep.Status = Limit
		return refused("the task has reached %s", words)
	}
	who := sp.Agents[o.Agent]
	e := SubAgentInput{
		Spec: who.Spec, Prompt: o.Prompt, Inputs: o.Inputs, Model: o.Model, Limits: o.Limits,
		Approve: sc.Task.Approve, Mode: sc.Task.Mode, Patience: sc.Task.Patience, Dir: sc.Task.Dir, Taint: sc.State.Taint,
		Parent: &Parent{Agent: sc.Task.Agent, Model: sc.Task.Model, Force: sc.Task.ForceModel, Test: sc.Task.Test, At: sc.Task.At, Home: sc.Task.Home, Limits: room,
			Rules: slices.Concat(narrowing(sc.Task.Rules), sc.State.Rules), Spawn: sp.share(sc.State.SubAgents.Agents, siblings)},
	}
	if len(o.Spec) > 0 {
		e.Spec, e.Parent.Grant = o.Spec, &who.Needs
	}
	if o.Worktree {
		at := "w" + strings.ReplaceAll(sc.Run.Next(), ".", "-")
		got, err := flow.Do[Tree](sc.Run, WorktreeStep, AddWorktree, Tree{Name: at, Of: sc.Task.At})
		if se, ok := asStep(err); ok {
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

// read takes a report from how a sub-agent's workflow has ended.
func (r *Report) read(out json.RawMessage, err error) {
	s := new(State)
	if len(out) > 0 && json.Unmarshal(out, s) != nil {
		s = new(State)
	}
	r.Turns, r.Took, r.Summary, r.Taint, r.raisedRest = s.Turns, s.Elapsed, s.Last, s.Taint, s.left()
	r.Usage = SubAgentUsage{Agents: 1, Turns: s.Turns, Calls: s.Calls, Usage: s.Usage, Cost: s.Cost, ByModel: s.ByModel}.add(s.SubAgents)
	for _, name := range s.Names() {
		if name == "output" {
			r.Output = s.Value(name)
			continue
		}
		if r.Artifacts == nil {
			r.Artifacts = map[string]json.RawMessage{}
		}
		r.Artifacts[name] = s.Value(name)
	}
	switch o := s.Outcome; {
	case o != nil:
		r.Status, r.Reason, r.Limit = o.Status, o.Reason, o.Limit
		if o.Summary != "" {
			r.Summary = o.Summary
		}
	case err != nil:
		r.Status, r.Reason = Failed, stepMessage(err)
	default:
		r.Status = Done
	}
	if r.Status != Done && r.Joined != nil {
		r.Reason += "; what it changed was not brought back, and is in " + r.Joined.Kept
	}
}

// line tell in a line what became of it.
func (r *Report) line() string {
	text := r.Status
	if r.Status != Done && r.Reason != "" {
		text += ": " + compaction.FirstLine(r.Reason)
	}
	return fmt.Sprintf("%s, %d turns, %d tokens", text, r.Usage.Turns, r.Usage.Usage.In+r.Usage.Usage.Out)
}

// eventData is the report as an event carries it.
func (r *Report) eventData() any {
	return struct {
		Status  string        `json:"status"`
		Reason  string        `json:"reason,omitempty"`
		Summary string        `json:"summary,omitempty"`
		Took    time.Duration `json:"took_ns,omitempty"`
		Below   SubAgentUsage `json:"below"`
	}{r.Status, r.Reason, compaction.Excerpt(r.Summary), r.Took, r.Usage}
}

// A SubAgentUsage is what sub-agents have taken, all together.
type SubAgentUsage struct {
	Agents  int                  `json:"agents,omitempty"`
	Turns   int                  `json:"turns,omitempty"`
	Calls   int                  `json:"calls,omitempty"`
	Usage   llm.Usage            `json:"usage,omitzero"`
	Cost    float64              `json:"cost_usd,omitempty"`
	ByModel map[string]llm.Usage `json:"used,omitempty"` // by provider/model
}

func (b SubAgentUsage) add(o SubAgentUsage) SubAgentUsage {
	if len(o.ByModel) > 0 {
		b.ByModel = maps.Clone(b.ByModel)
		if b.ByModel == nil {
			b.ByModel = map[string]llm.Usage{}
		}
		for _, m := range sortedKeys(o.ByModel) {
			b.ByModel[m] = b.ByModel[m].Add(o.ByModel[m])
		}
	}
	b.Agents, b.Turns, b.Calls = b.Agents+o.Agents, b.Turns+o.Turns, b.Calls+o.Calls
	b.Usage, b.Cost = b.Usage.Add(o.Usage), b.Cost+o.Cost
	return b
}

// addReports adds what an order has taken to the accounts. Whoever reads what the
// sub-agent returns has read what it has.
func (s *State) addReports(reps ...Report) {
	for i := range reps {
		s.SubAgents = s.SubAgents.add(reps[i].Usage)
		s.Taint |= reps[i].Taint
	}
	for i := range reps {
		s.inherit(reps[i].raisedRest)
	}
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
func narrowing(rules permit.Rules) (out permit.Rules) {
	for _, r := range rules {
		if r.Narrows() {
			out = append(out, r)
		}
	}
	return out
}

// remainingLimits is what the task's limits leave.
func (t *Task) remainingLimits(s *State) Limits {
	l := t.limits(s)
	if l.Tokens > 0 {
		l.Tokens = max(1, l.Tokens-s.Usage.In-s.Usage.Out-s.SubAgents.Usage.In-s.SubAgents.Usage.Out)
	}
	if l.CostUSD > 0 {
		l.CostUSD = max(1e-9, l.CostUSD-s.Cost-s.SubAgents.Cost)
	}
	if l.Time > 0 {
		l.Time = max(1, l.Time-s.Elapsed)
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

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
