package executor

import (
	"fmt"
	"strings"

	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/llm"
)

// Act has calls performed for a workflow that decides itself what comes next
// instead of asking a model, as [Loop] does: with the same rules, approvals,
// artifacts and accounts. Those that only read or think run at once, the others
// in order. A call that fails is a Reply, as it is to a model.
//
// The error is a *StopError if a limit of the task was reached before the
// calls were made.
func Act(r *flow.Run, t *Task, s *State, calls ...llm.Call) ([]Reply, error) {
	if limit, words := t.Limits.exceeded(s); limit != "" {
		s.Outcome = &Outcome{Status: Limit, Limit: limit, Reason: "reached " + words}
		return nil, &StopError{*s.Outcome}
	}
	for i := range calls {
		s.Calls++
		calls[i].ID = fmt.Sprintf("call%05d", s.Calls)
	}
	replies, err := act(r, t, s, calls)
	if err != nil {
		return nil, err
	}
	s.take(t, llm.Message{Calls: calls}, replies)
	s.New = nil // nobody reads the transcript
	return replies, nil
}

// Settle ends such a workflow: it is done if the task's criterion holds of the
// state. reason says what went wrong, "" if nothing did.
func Settle(r *flow.Run, t *Task, s *State, reason string) (*State, error) {
	var engine error
	v := t.Done.Judge(s, func(tool string) error {
		replies, err := act(r, t, s, []llm.Call{{Name: tool, Args: []byte("{}")}})
		if err != nil {
			engine = err
			return err
		}
		s.bind(tool, replies[0].Artifacts)
		if replies[0].Failed {
			return fmt.Errorf("check %s: %s", tool, replies[0].Text)
		}
		return nil
	})
	if engine != nil {
		return s, engine
	}
	switch {
	case reason == "" && len(v.Unmet) == 0:
		s.Outcome = &Outcome{Status: Done, Met: v.Met, Reason: strings.Join(v.Met, ", "), Summary: s.Last}
		return s, nil
	case reason == "":
		reason = v.Unmet[0]
	}
	s.Outcome = &Outcome{Status: Failed, Reason: reason, Met: v.Met, Unmet: v.Unmet}
	return s, &StopError{*s.Outcome}
}
