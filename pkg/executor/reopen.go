package executor

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/adroit-run/adroit/internal/calling/extagent"
	"github.com/adroit-run/adroit/internal/stored"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/tools"
)

// Reopener decides what of a job that ended without being done goes on when it is
// resumed with l in place of the limits that stopped it: turns are of the agent that
// was stopped, all else of the whole job. output is the job's, set has the bodies of
// its tools. A job that a limit stopped goes on only if l raises that limit.
func (l Limits) Reopener(output json.RawMessage, set *tools.Set) flow.Reopener {
	job := new(State)
	if json.Unmarshal(output, job) != nil {
		job = new(State) // a workflow of another kind, or one without output
	}
	return (&reopener{set: set, more: l, job: job}).flow()
}

// Reopener has a job go on with the message, however it ended. set has the bodies of
// its tools.
func (m Message) Reopener(set *tools.Set) (flow.Reopener, error) {
	value, err := json.Marshal(m)
	if err != nil {
		return flow.Reopener{}, fmt.Errorf("encoding a message: %w", err)
	}
	o := (&reopener{set: set, job: new(State), message: true, ends: m.compactOnly()}).flow()
	o.Send = &flow.Signal{Name: turn.MessageSignal, Value: value}
	o.Redo = func(rec flow.Record, output json.RawMessage) bool {
		var r ToolResult
		asks := json.Unmarshal(output, &r) == nil && r.Question != nil
		return rec.Kind == turn.ModelStep && !extagent.IsAgent(rec.Name) || rec.Kind == turn.CompactStep || rec.Kind == turn.ToolStep && (asks || idle(set, rec.Name))
	}
	return o, nil
}

type reopener struct {
	set     *tools.Set
	more    Limits
	job     *State
	message bool // it goes on with one
	ends    bool // with the outcome it had: nothing is asked of the model
}

func (o *reopener) flow() flow.Reopener {
	return flow.Reopener{Failed: o.failed, Unknown: o.unknown, Asked: onlyAsked, Denied: denied, Repeat: o.repeat, RepeatScope: o.repeatScope, Ended: o.ended, Revive: o.revive, Raise: o.raise}
}

// failed reports that a tool said so: a command of a pipeline, a check.
func (o *reopener) failed(rec flow.Record, output json.RawMessage) bool {
	var r struct{ Failed bool }
	return rec.Kind == turn.ToolStep && json.Unmarshal(output, &r) == nil && r.Failed
}

// unknown reports that a step may have happened: the process died in it, or its time was
// over, or it says so itself, as a publication does whose answer was lost.
func (o *reopener) unknown(rec flow.Record, output json.RawMessage) bool {
	if rec.Failure == nil {
		var r ToolResult
		return json.Unmarshal(output, &r) == nil && r.Taint.Has(tools.Unconfirmed)
	}
	switch rec.Failure.Code {
	case flow.Interrupted, flow.TimedOut, flow.Panicked:
		return !o.repeat(rec)
	}
	return false
}

// onlyAsked reports that a call was not made because somebody had to be asked first.
func onlyAsked(rec flow.Record, output json.RawMessage) bool {
	var r ToolResult
	return rec.Kind == turn.ToolStep && json.Unmarshal(output, &r) == nil && (r.Question != nil || r.UserQuestion != nil || r.Unchecked != nil)
}

// denied reports that a person did not approve a call.
func denied(answer json.RawMessage) bool {
	var sig flow.Signal
	return json.Unmarshal(answer, &sig) == nil && strings.HasPrefix(sig.Name, "deny@")
}

// repeat reports that a step leaves nothing behind but its result.
func (o *reopener) repeat(rec flow.Record) bool {
	switch rec.Kind {
	case turn.ModelStep:
		return !extagent.IsAgent(rec.Name) // it works on files
	case turn.CompactStep, turn.WorktreeStep:
		return true
	case turn.ToolStep:
		return idle(o.set, rec.Name)
	}
	return false
}

// idle reports that calls of a tool leave nothing behind but their results.
func idle(set *tools.Set, tool string) bool {
	t, ok := set.Lookup(tool)
	return tool == finish || ok && t.Safe() != tools.Unsafe && t.Needs&^(tools.Read|tools.Think|tools.Exec) == 0
}

func (o *reopener) repeatScope(state json.RawMessage) bool {
	s := new(State)
	if json.Unmarshal(state, s) != nil {
		return false
	}
	for name := range s.Called {
		if !idle(o.set, name) {
			return false
		}
	}
	return s.SubAgents.Agents == 0
}

// stopped is the outcome that a scope ended with, or is about to; nil if there
// is none. The error is of an agent's state that has what is not known.
func stopped(state json.RawMessage) (*State, *Outcome, error) {
	s := new(State)
	if json.Unmarshal(state, s) != nil || s.Outcome == nil && s.WrapUp == nil {
		return nil, nil, nil // also a state of another kind
	}
	err := stored.Decode(state, s)
	if err == nil {
		err = s.known()
	}
	if err != nil {
		return nil, nil, fmt.Errorf("the saved state of the agent cannot be gone on with: %w", err)
	}
	if s.Outcome != nil {
		return s, s.Outcome, nil
	}
	return s, s.WrapUp, nil
}

func (o *reopener) ended(scope string, state json.RawMessage) bool {
	s, end, err := stopped(state)
	if err != nil {
		return true // revive says so
	}
	if end == nil {
		return false
	}
	if top := strings.Count(scope, ".") == 1; o.message && top {
		return true // sub-agents get no messages
	}
	switch {
	case end.Succeeded():
		return false
	case end.Status != Limit:
		return true
	}
	return o.raises(s, end.Limit)
}

// raises reports whether more is above what a run has used of the limit that ended it.
func (o *reopener) raises(s *State, limit string) bool {
	all, used := o.share(s, 1), s.used()
	switch limit {
	case "turns":
		return all.Turns > used.Turns || all.Turns < 0
	case "tokens":
		return all.Tokens > used.Tokens || all.Tokens < 0
	case "cost":
		return all.CostUSD > used.CostUSD || all.CostUSD < 0
	case "time":
		return all.Time > used.Time || all.Time < 0
	}
	return false
}

// share returns the limits of one of n agents that go on with the added limits: its usage
// so far and its share of the rest.
func (o *reopener) share(s *State, n int) Limits {
	l := Limits{Turns: o.more.Turns, Tokens: o.more.Tokens, CostUSD: o.more.CostUSD, Time: o.more.Time}
	job, used := o.job.used(), s.used()
	if l.Tokens > 0 {
		l.Tokens = max(1, used.Tokens+(l.Tokens-max(job.Tokens, used.Tokens))/n)
	}
	if l.CostUSD > 0 {
		l.CostUSD = max(1e-9, used.CostUSD+(l.CostUSD-max(job.CostUSD, used.CostUSD))/float64(n))
	}
	if l.Time > 0 {
		l.Time = max(1, used.Time+l.Time-max(job.Time, used.Time))
	}
	return l
}

// revive is the state with which a scope goes on.
func (o *reopener) revive(state json.RawMessage, n int) (json.RawMessage, error) {
	s, end, err := stopped(state)
	if err != nil {
		return nil, err
	}
	if end == nil {
		return nil, fmt.Errorf("reopening an agent: its state has no outcome")
	}
	s.Raised = o.share(s, n).Or(s.Raised)
	s.New = s.withoutWrapUp()
	s.clearOutcome()
	if o.ends {
		s.Ended = end
		return json.Marshal(s)
	}
	if end.Succeeded() || end.Code == tooBig {
		return json.Marshal(s) // the message says what is next, if there is one
	}
	words := fmt.Sprintf("You were stopped: %s. You may go on now", strings.TrimSuffix(end.Reason, "."))
	if end.Status == Limit {
		words += ", with a higher limit"
	} else {
		words += "; somebody may have changed something since, so look again at how things are"
	}
	s.addUserMessage("%s. All your tools are there.", words)
	return json.Marshal(s)
}

// raise raises the limits of a workflow that one of them ended between two steps.
func (o *reopener) raise(state json.RawMessage, at string) (json.RawMessage, error) {
	end := o.job.Outcome
	if o.message || end == nil || end.Status != Limit || !o.raises(o.job, end.Limit) {
		return nil, nil
	}
	var r raised
	if state != nil && (json.Unmarshal(state, &r) != nil || len(r.Raised) == 0) {
		return nil, nil // that of an agent, which is revived
	}
	if state != nil {
		if err := stored.Decode(state, &r); err != nil {
			return nil, fmt.Errorf("the raised limits of the job: %w", err)
		}
	}
	r.Raised = append(r.Raised, raise{at, o.share(o.job, 1)})
	return json.Marshal(r)
}
