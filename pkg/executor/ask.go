package executor

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/adroit-run/adroit/internal/calling/extagent"
	"github.com/adroit-run/adroit/internal/stored"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/llm"
)

// ask has one model turn and takes it into the state. What would not fit is
// made smaller first, or after the provider has refused it. A model that cannot
// answer is followed by the one behind it.
func ask(r *flow.Run, t *Task, s *State) (llm.Message, error) {
	if t.Revision < keepsCompactions {
		if err := compactIfNeeded(r, t, s); err != nil {
			return llm.Message{}, err
		}
	}
	a := newRequest(t, s)
	var whole *State // before it was compacted for a refusal that nobody recognises
	for compacted := s.Refused; ; {
		a.Model, a.Options.Window = t.modelAt(s.Fallback)
		a.Chain = turn.Chain{Backed: s.Fallback < len(t.Fallbacks), Hedge: t.Hedge}
		a.Grant = t.agentGrant(s, a.Model)
		answer, head, err := stored.DoKeep[turn.ModelResponse](r, turn.ModelStep, a.Model, a)
		if err == nil {
			answer.Ref, answer.Grant = a.Model, a.Grant
			return s.addResponse(t, answer, head, a.HideTools), nil
		}
		switch again, noted := t.retry(r, s, &a, err); {
		case noted != nil:
			return llm.Message{}, noted
		case again:
		case whole != nil: // it was not the length: what was left out stays for the next time
			s.restore(whole)
			return llm.Message{}, explained(err)
		case !compacted && (t.mayOverflow(s, err) || t.tooManyBytes(s, err)) && !extagent.IsAgent(a.Model):
			before := *s
			cerr := compact(r, t, s, compactGoal{limit: cmp.Or(t.limit(s), s.need(t)), refused: true})
			if _, failed := errors.AsType[*flow.StepError](cerr); failed {
				s.restore(&before)
				return llm.Message{}, explained(err)
			} else if cerr != nil {
				return llm.Message{}, cerr
			}
			a, compacted, whole = newRequest(t, s), true, &before
			why := "for a reason that is not known"
			if t.tooManyBytes(s, err) {
				why = "for its size in bytes"
			}
			if err := r.Note("the model's server refuses the request %s; it is asked once more with a shorter conversation", why); err != nil {
				return llm.Message{}, err
			}
		case !refused(err):
			return llm.Message{}, explained(err)
		case compacted:
			return llm.Message{}, t.full(r, s, "the provider refuses what is left of it, too: "+stepMessage(err))
		case t.Budget == nil || extagent.IsAgent(a.Model):
			return llm.Message{}, err
		default:
			if err := compactAfterRefusal(r, t, s, err); err != nil {
				return llm.Message{}, err
			}
			if t.Revision >= keepsRefusals {
				s.Compacted, s.Refused = true, true
				return llm.Message{}, errCompacted
			}
			a, compacted = newRequest(t, s), true
		}
	}
}

// newRequest is what the model is asked next.
func newRequest(t *Task, s *State) turn.ModelRequest {
	a := turn.ModelRequest{Head: s.Head, New: s.New, Model: t.Model, Options: t.Options, Output: t.Output, HideTools: s.WrapUp != nil || t.turn.none, RequireCall: s.RequireCall && s.WrapUp == nil, At: t.At, Compacted: s.Context.Summarised,
		CallMode: t.CallMode, ModeFailures: s.ModeFailures}
	if offered := t.offered(s); offered.names != s.OfferedTools && (!a.HideTools || t.Revision > 0) {
		a.Tools, s.OfferedTools = offered.specs, offered.names
	}
	if s.WrapUp != nil && t.Revision > 0 {
		a.Output = nil // the last words are for a person; a schema would push out the tools
	}
	t.ration(s, &a.Options)
	return a
}

// addResponse adds an answer to the accounts and returns it as the history has
// it. head names the conversation that it answers.
func (s *State) addResponse(t *Task, answer turn.ModelResponse, head string, wrapUp bool) llm.Message {
	if t.Budget != nil && answer.Work == nil {
		s.Context.Count(s.Context.Weight+turn.Weigh(s.New...), s.need(t), answer.Usage.In)
		s.Context.In, s.Context.Out = answer.Usage.In, answer.Usage.Out
	}
	s.Head, s.New = head, nil
	s.Read, s.Compacted, s.Refused = 0, false, false
	s.Turns++
	s.addUsage(t, answer.Ref, answer.Usage)
	s.addCosts(t, answer.ModelCosts)
	s.Elapsed += answer.Took
	s.RequireCall = false
	s.noteCallMode(t, &answer)
	s.readFeedback(&answer)
	s.addAgentWork(t, &answer)
	if wrapUp {
		// A call in the last words would run after the run was stopped.
		answer.Message.Calls = nil
	}
	said := s.cleanMessage(answer.Message, s.CallsBefore+lastCall(t.History))
	if t.Revision >= keepsThinking {
		said.Thinking = tailOf(answer.Message.Thinking, mostThinking)
	}
	return said
}

// cleanMessage makes an answer fit for the history of any provider: ids unique
// within the run, nine letters and digits as the strictest wants them; no
// thoughts of the past. Those of calls count on from before.
func (s *State) cleanMessage(m llm.Message, before int) llm.Message {
	out := llm.Message{Role: llm.Assistant, Text: strings.TrimSpace(strings.ToValidUTF8(m.Text, "\uFFFD")), Calls: slices.Clone(m.Calls), State: m.State}
	for i := range out.Calls {
		c := &out.Calls[i]
		s.Calls++
		c.ID = fmt.Sprintf("call%05d", (before+s.Calls)%100_000)
	}
	return out
}

type offer struct {
	names string
	specs []llm.ToolSpec
}

// offered are the task's tools, ready to send.
func (t *Task) offered(s *State) offer {
	var o offer
	var names []string
	for i := range t.Tools {
		if t.Revision > 0 || t.missing(&t.Tools[i], s) == nil && t.withheld(s, t.Tools[i].Name, s.Turns+1) == "" {
			names = append(names, t.Tools[i].Name)
			o.specs = append(o.specs, t.Tools[i].ToolSpec)
		}
	}
	o.names = strings.Join(names, ",")
	if o.specs == nil {
		o.specs = []llm.ToolSpec{}
	}
	return o
}

// lastCall is the highest number of a call in what a run began with: those of the
// run are numbered from there, since ids are unique in a conversation.
func lastCall(history []llm.Message) int {
	last := 0
	for i := range history {
		for _, c := range history[i].Calls {
			if digits, ok := strings.CutPrefix(c.ID, "call"); ok {
				if n, err := strconv.Atoi(digits); err == nil {
					last = max(last, n)
				}
			}
		}
	}
	return last
}
