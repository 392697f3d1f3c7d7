package executor

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/calling/schema"
	"github.com/adroit-run/adroit/internal/memory"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/guard/permit"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
)

// Spawn has a sub-agent work and waits for it. If it does not get done, or what
// it changed is in conflict, the error is a *SpawnError, which a workflow may
// handle; the report is complete in any case.
func (sc *Scope) Spawn(o SubAgentRequest) (Report, error) {
	if _, err := sc.exceeded(); err != nil { // what was raised counts for what is left
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

// SpawnAll runs sub-agents at once, at most the task's fan-out at a time. All finish even
// if others fail; the errors are joined. Changes in worktrees are brought back in the
// order of the orders.
func (sc *Scope) SpawnAll(orders ...SubAgentRequest) ([]Report, error) {
	width := sc.Task.fanOut()
	var reps []Report
	var errs []error
	for some := range slices.Chunk(orders, width) {
		if _, err := sc.exceeded(); err != nil {
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
	if end, err := sc.exceeded(); err != nil {
		return rep, err
	} else if end != nil {
		rep.Status, rep.Limit = Limit, end.Limit
		return refused("the task has %s", end.Reason)
	}
	who := sp.Agents[o.Agent]
	e := subAgentInput{
		Spec: who.Spec, Prompt: o.Prompt, Inputs: o.Inputs, Model: o.Model, Limits: o.Limits,
		Approve: sc.Task.Approve, Mode: sc.Task.Mode, Patience: sc.Task.Patience, Dir: sc.Task.Dir, Taint: sc.State.Taint,
		Parent: &Parent{Agent: sc.Task.Agent, Model: sc.Task.Model, Force: sc.Task.ForceModel, Test: sc.Task.Test, At: sc.Task.At, Home: sc.Task.Home, Limits: room,
			Rules: slices.Concat(narrowing(sc.Task.Rules), sc.State.Rules), Spawn: sp.share(sc.State.SubAgents.Agents, siblings)},
	}
	if o.After != nil {
		e.Conversation = o.After.conversation
	}
	if sc.Task.Memory == memory.Off {
		e.Parent.Memory = memory.Off
	}
	if len(o.Spec) > 0 {
		e.Spec, e.Parent.Grant = o.Spec, &who.Needs
	}
	if o.Worktree {
		got, err := sc.addTree()
		if se, ok := errors.AsType[*flow.StepError](err); ok {
			return refused("a worktree for it: %s", se.Message)
		}
		if err != nil {
			return rep, err
		}
		if e.Parent.Home == "" {
			e.Parent.Home = e.Dir
		}
		e.Parent.At, e.Dir = got.Name, got.Dir
		rep.Joined = &Joined{Name: got.Name, Kept: got.Dir}
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

// share returns the limits of one of several sub-agents: its share of the sub-agents that
// may still be spawned, and one level less.
func (sp *SpawnLimits) share(had, siblings int) *SpawnLimits {
	own := *sp
	own.Allowed, own.Depth = nil, sp.Depth-1
	if own.Total = (sp.Total - had - 1) / siblings; own.Total <= 0 {
		own.Depth = 0
	}
	return &own
}

// narrowing returns the rules that take rights away. Rules that grant rights to an agent
// do not apply to its sub-agents.
func narrowing(rules []permit.Rule) (out []permit.Rule) {
	for _, r := range rules {
		if r.Narrows() {
			out = append(out, r)
		}
	}
	return out
}

// read takes a report from how a sub-agent's workflow has ended.
func (r *Report) read(out json.RawMessage, err error) {
	s := new(State)
	if len(out) > 0 && json.Unmarshal(out, s) != nil {
		s = new(State)
	}
	r.Turns, r.Took, r.Summary, r.Taint, r.raisedRest = s.Turns, s.Elapsed, s.Last, s.Taint, s.left()
	if s.Head != "" && s.Notes == nil {
		r.conversation = &turn.Conversation{Head: s.Head, New: s.withoutWrapUp(), Offered: s.OfferedTools, Context: s.Context, Calls: s.CallsBefore + s.Calls}
	}
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
		if o.Succeeded() {
			r.Status = Done // for the caller
		}
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

// fanOut returns the number of sub-agents that may run at once.
func (t *Task) fanOut() int {
	if t.Spawn != nil && t.Spawn.FanOut > 0 {
		return t.Spawn.FanOut
	}
	return turn.SpawnFanOut
}

// needsOwnTree reports whether a sub-agent may not work beside others in the same
// directory: it could change what they read.
func (t *Task) needsOwnTree(c llm.Call) bool {
	var in struct{ Agent string }
	if args, _ := schema.Repair(c.Args); json.Unmarshal(args, &in) != nil || t.Spawn == nil {
		return false // it is refused
	}
	who, ok := t.Spawn.Agents[in.Agent]
	return ok && who.Needs&^(tools.Read|tools.Think|tools.Net) != 0
}

// spawnForModel runs a sub-agent for the model. siblings counts those spawned in the
// same answer.
func spawnForModel(r *flow.Run, t *Task, s *State, now callContext, c llm.Call) (ToolResult, error) {
	var in struct{ Agent, Task string }
	if args, _ := schema.Repair(c.Args); json.Unmarshal(args, &in) != nil || in.Agent == "" || strings.TrimSpace(in.Task) == "" {
		const takes = "spawn_agent takes {\"agent\": its name, \"task\": what to do and what to report}"
		return refuse(takes), r.Note("%s refused: %s", spawnAgent, takes)
	}
	own := *s
	own.Taint, own.SubAgents.Agents = now.taint, s.SubAgents.Agents+now.subAgents
	siblings := max(1, now.calls)
	sc := &Scope{Run: r, Task: t, State: &own}
	rep, err := sc.spawn(SubAgentRequest{Agent: in.Agent, Prompt: in.Task}, t.remainingLimits(s).share(siblings), siblings)
	e := new(SpawnError)
	if err != nil && !errors.As(err, &e) {
		return ToolResult{}, err
	}
	if err != nil && e.Err == nil { // it was not spawned
		if err := r.Note("%s refused: %s", spawnAgent, spelling.FirstLine(rep.Reason)); err != nil {
			return ToolResult{}, err
		}
	}
	reply := ToolResult{Took: rep.Took, report: &rep}
	reply.Failed, reply.Taint = !rep.OK(), rep.Taint
	reply.Summary = in.Agent + ": " + rep.line()
	most, _ := t.resultRoom(s, now)
	reply.Text = headAndTail(rep.text(), most)
	return reply, nil
}

// headAndTail shows head and tail of a text that is longer than room bytes; 0 is no
// bound.
func headAndTail(text string, room int) string {
	if room <= 0 || len(text) <= room {
		return text
	}
	return strings.ToValidUTF8(text[:room*2/3], "") + fmt.Sprintf("\n… %d bytes are left out …\n", len(text)-room) + strings.ToValidUTF8(text[len(text)-room/3:], "")
}
