// Package executor is the agent loop: ask, act, judge, repeat.
//
// [Loop] is an ordinary workflow: a model turn is a step, a tool call is a
// step, and the state after each turn is a checkpoint, so that a job of any
// length resumes by replaying at most one turn. The loop believes no claim of
// the model: a [Criterion] states what must hold, and what does not hold is
// shown to the model.
//
// The package is not a prompt library: what to say and when to be done comes
// with the [Task].
package executor

import (
	"errors"

	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/llm"
)

// Loop asks the model, runs the tools it picks and stops when t.Done holds,
// when a limit is reached or when the run goes in circles. The state it
// returns is complete in every case; the error is nil only if the task is
// done, and a *StopError if the loop itself ended it.
func Loop(r *flow.Run, t Task) (*State, error) {
	s := new(State)
	resumed, err := s.load(r)
	if err != nil {
		return nil, err
	}
	if c := t.Conversation; !resumed && c != nil {
		s.Taint = t.Taint
		s.Head, s.New, s.CallsBefore, s.OfferedTools, s.Context = c.Head, c.New, c.Calls, c.Offered, c.Context
		s.addMessage(llm.Message{Role: llm.User, Text: t.Prompt, Images: t.Images})
	} else if !resumed {
		s.Taint = t.Taint
		s.New = []llm.Message{{Role: llm.System, Text: t.System}, {Role: llm.User, Text: t.Prompt, Images: t.Images}}
		s.New = append(s.New, t.History...)
	}
	t.useModel(s.Model)
	if err := run(r, &t, s); err != nil {
		return s, err
	}
	if !s.Outcome.Succeeded() {
		return s, &StopError{*s.Outcome}
	}
	return s, nil
}

// run has turns until the state has an outcome, and makes each a checkpoint.
func run(r *flow.Run, t *Task, s *State) error {
	t.settleWords(s)
	for s.Outcome == nil {
		if err := t.readMessages(r, s); err != nil {
			return err
		}
		if s.Ended != nil {
			s.Outcome, s.Ended = s.Ended, nil
			return flow.Save(r, s)
		}
		if t.unaffordable(s) {
			return flow.Save(r, s)
		}
		if compacted, err := t.compactFirst(r, s); failed(s, err) {
			return nil
		} else if err != nil {
			return err
		} else if compacted {
			continue
		}
		answer, err := ask(r, t, s)
		if failed(s, err) {
			return nil
		} else if errors.Is(err, errCompacted) {
			if err := flow.Save(r, s); err != nil {
				return err
			}
			continue
		} else if err != nil {
			return err
		}
		calls := t.meantCalls(answer.Calls)
		replies, err := act(r, t, s, asked{}, calls)
		if err != nil {
			return err
		}
		t.fitReplies(s, calls, replies)
		s.addTurn(t, answer, calls, replies)
		s.noteChanges(t, calls, replies)
		t.noteUnapplied(s, answer, calls, replies)
		s.Claim = t.claim(answer.Text, calls, replies)
		s.reports = t.reportsBeside(answer, calls, replies)
		if err := judge(r, t, s, answer); err != nil {
			return err
		}
		if s.Outcome != nil {
			if err := t.readMessages(r, s); err != nil {
				return err
			}
		}
		if err := flow.Save(r, s); err != nil {
			return err
		}
	}
	return nil
}

// failed ends the run if err is the failure of a model step. Anything else
// that went wrong is the engine's: the run stops without an outcome.
func failed(s *State, err error) bool {
	se, ok := errors.AsType[*flow.StepError](err)
	if !ok {
		return false
	}
	s.Elapsed += se.Took
	s.Outcome = &Outcome{Status: Failed, Reason: se.Message, Code: se.Code}
	if s.WrapUp != nil {
		s.Outcome = s.WrapUp
	}
	return true
}

// judge decides after a turn: done, go on with a word to the model, or land.
func judge(r *flow.Run, t *Task, s *State, answer llm.Message) error {
	if s.WrapUp != nil {
		s.Outcome = s.WrapUp
		s.Outcome.Summary = t.lastWords(answer.Text, s.WrapUp)
		return nil
	}
	if o := s.agentStopped(t); o != nil {
		t.stop(s, o)
		return nil
	}
	switch {
	case t.refused(s, answer):
		return nil
	case s.askAgain(answer):
	case len(answer.Calls) == 0 && answer.Text == "":
		if err := t.doneInSilence(r, s, answer); err != nil || s.Outcome != nil {
			return err
		}
		s.empty(t)
	case len(answer.Calls) == 0 || s.Claim != nil || s.reports:
		if err := verify(r, t, s, answer); err != nil || s.Outcome != nil {
			return err
		}
	}
	if end := t.reached(s); end != nil {
		t.stop(s, end)
		return nil
	}
	s.detectLoop()
	s.remind(t)
	return nil
}
