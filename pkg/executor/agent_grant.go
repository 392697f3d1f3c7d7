package executor

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/calling/extagent"
	"github.com/adroit-run/adroit/internal/calling/route"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
)

const (
	maxAgentTime = 115 * time.Minute // less than the step's own time, so that its end is ours
	wrapUpTime   = 3 * time.Minute
)

// rights returns the access that the task's tools would give a model that works on its
// own. A tool that runs commands does not suffice for Run, since nobody can be asked
// about each command: somebody must have approved all of them, or the mode must be
// ModeAuto with commands confined to a sandbox.
func (t *Task) rights() extagent.Access {
	var needs tools.Caps
	for _, tool := range t.callable() {
		if !tool.Online { // its calls are asked about, one by one
			needs |= tool.Needs
		}
	}
	if t.Mode == ModePlan {
		return extagent.Access{Net: needs&tools.Net != 0}
	}
	return extagent.Access{
		Write:         needs&(tools.Write|tools.Shell) != 0,
		Run:           needs&(tools.Shell|tools.Exec) != 0 && (t.Mode == ModeAuto || t.Approve == ApproveAll),
		SandboxedOnly: needs&(tools.Shell|tools.Exec) != 0 && t.Mode == ModeAuto && t.Approve != ApproveAll,
		Net:           needs&tools.Net != 0,
	}
}

// agentGrant returns the access and the bounds of an external agent for this answer, nil
// for any other model.
func (t *Task) agentGrant(s *State, model string) *turn.AgentGrant {
	if !extagent.IsAgent(model) {
		return nil
	}
	if s.WrapUp != nil { // last words
		return &turn.AgentGrant{Bounds: extagent.Limits{Turns: 5, Tokens: -1, CostUSD: -1, Wall: wrapUpTime}}
	}
	l := t.limits(s)
	st := &turn.AgentGrant{Rights: t.rights(), Permit: t.permissionContext(callContext{taint: s.Taint, rules: s.Rules}), Bounds: extagent.Limits{Turns: -1, Tokens: -1, CostUSD: -1, Wall: maxAgentTime}}
	for _, tool := range t.callable() {
		st.Needs |= tool.Needs
	}
	if l.Turns > 0 {
		st.Bounds.Turns = max(1, l.Turns-s.Turns)
	}
	if l.Tokens > 0 {
		st.Bounds.Tokens = max(1, l.Tokens-s.Usage.In-s.Usage.Out)
	}
	if l.CostUSD > 0 {
		st.Bounds.CostUSD = max(0.01, l.CostUSD-s.Cost)
	}
	if l.Time > 0 {
		st.Bounds.Wall = min(maxAgentTime, max(time.Second, l.Time-s.Elapsed))
	}
	return st
}

// interrupted reports that the program that drove a model at work was killed:
// what it did may or may not be whole, and is not done again.
func interrupted(err error, model string) bool {
	var se *flow.StepError
	return extagent.IsAgent(model) && errors.As(err, &se) && se.Code == flow.Interrupted
}

const interruptedMessage = "You were interrupted while you worked on this: what you did last may or may not have happened. Look at how things are before you repeat or go on with anything."

// takeoverMessage informs a model that it takes over from an external agent that failed.
func takeoverMessage(from string, err error) string {
	return fmt.Sprintf("%s was asked this before you and failed (%s). It may have changed files: look at how things are before you begin.", from, stepMessage(err))
}

// withMessage gives the messages of an ask with one more. They may belong to the state.
func withMessage(msgs []llm.Message, text string) []llm.Message {
	return append(slices.Clip(msgs), llm.Message{Role: llm.User, Text: text})
}

// addAgentWork adds an external agent's own work for its answer to the state.
func (s *State) addAgentWork(t *Task, a *turn.ModelResponse) {
	w := a.Work
	if w == nil {
		return
	}
	s.Turns += max(0, w.Turns-1) // the answer itself is counted already
	s.Calls += w.Calls
	s.bind(a.Ref, a.Artifacts)
	if a.Grant != nil && a.Grant.Rights.Net {
		s.Taint |= tools.Untrusted
	}
	if t.price(a.Ref) == (llm.Price{}) {
		s.Reported += w.CostUSD
		s.Cost += w.CostUSD
	}
	s.feedback.stopped, s.feedback.refused, s.feedback.worked = w.Stopped, w.Refused, true
}

// agentStopped returns the outcome of a run whose external agent was stopped, nil if it
// was not stopped. The agent's last text is no claim to be done.
func (s *State) agentStopped(t *Task) *Outcome {
	switch stopped := s.feedback.stopped; stopped {
	case "":
		return nil
	case "same":
		return &Outcome{Status: Stuck, Reason: "the model made the same calls over and over and was ended"}
	default:
		if end := t.limits(s).exceeded(s.used()); end != nil {
			return end
		}
		return &Outcome{Status: Limit, Limit: stopped, Reason: "the model was ended at its work: it passed the bound of " + stopped}
	}
}

// useFallback moves the run to the model behind the one that failed, and notes it. It
// reports false if the failure is for the run to end with. The run stays with
// the new model: going to and fro would lose the cache of both.
func (s *State) useFallback(r *flow.Run, t *Task, err error) (bool, error) {
	var se *flow.StepError
	if !errors.As(err, &se) || s.Fallback >= len(t.Fallbacks) {
		return false, nil
	}
	kind, ours := strings.CutPrefix(se.Code, "model.")
	if se.Code != flow.TimedOut && (!ours || !route.Kind(llm.ErrorKind(kind))) {
		return false, nil
	}
	from, _ := t.modelAt(s.Fallback)
	s.Fallback++
	to, _ := t.modelAt(s.Fallback)
	words := fmt.Sprintf("%s cannot be used now (%s); going on with %s", from, spelling.FirstLine(se.Message), to)
	if _, priced := t.Prices[to]; !priced && t.Limits.CostUSD > 0 {
		words += ", which has no price and is not counted"
	}
	return true, r.Note("%s", words)
}

// retry prepares a for another try after a failure: with the model that was
// interrupted, or with the one behind it. It reports false if there is none.
func (t *Task) retry(r *flow.Run, s *State, a *turn.ModelRequest, err error) (bool, error) {
	if interrupted(err, a.Model) {
		a.New = withMessage(a.New, interruptedMessage)
		return true, nil
	}
	again, noted := s.useFallback(r, t, err)
	if again && extagent.IsAgent(a.Model) {
		a.New = withMessage(a.New, takeoverMessage(a.Model, err))
	}
	return again, noted
}
