package executor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/llm"
)

// An Interruption is what becomes of a call during which the process died, and of which
// nobody knows whether it happened. The zero value has a person asked.
type Interruption = turn.Interruption

// Act has calls performed: with the same rules, approvals, artifacts and
// accounts as those of a model. Those that only read or think run at once, the
// others in order. A call that fails is a Reply, as it is to a model.
//
// The error is a *StopError if a limit of the task was reached before the
// calls were made.
func (sc *Scope) Act(calls ...llm.Call) ([]ToolResult, error) {
	return sc.act(turn.Recognized, calls)
}

func (sc *Scope) act(interrupted turn.Interruption, calls []llm.Call) ([]ToolResult, error) {
	t, s := sc.Task, sc.State
	if err := sc.withinLimits(); err != nil {
		return nil, err
	}
	for i := range calls {
		s.Calls++
		calls[i].ID = fmt.Sprintf("call%05d", s.Calls)
	}
	replies, err := act(sc.Run, t, s, asked{true, interrupted, t.Revision >= turn.TypedResults}, calls)
	if err != nil {
		return nil, err
	}
	talk := s.New
	s.addTurn(t, llm.Message{Calls: calls}, calls, replies)
	s.New = talk // the model has not made these calls
	return replies, nil
}

// Finish ends the run: it is done if err is nil and the task's criterion
// holds. Any error of a workflow is the reason that it failed; that of a limit
// stays one.
func (sc *Scope) Finish(err error) (*State, error) {
	s := sc.State
	if parked := new(flow.ParkedError); errors.As(err, &parked) || errors.Is(err, context.Canceled) {
		return s, err // the job waits, or was stopped: it has no outcome yet
	}
	if stop := new(StopError); errors.As(err, &stop) && !stop.Outcome.Succeeded() && !errors.As(err, new(*SpawnError)) {
		s.Outcome = &stop.Outcome
		return s, stop
	}
	if err != nil {
		s.Outcome = &Outcome{Status: Failed, Reason: err.Error(), Summary: s.Last}
		if se, ok := errors.AsType[*flow.StepError](err); ok {
			s.Outcome.Code = se.Code
		}
		return s, &StopError{*s.Outcome}
	}
	v, err := sc.Task.judge(sc.Run, s, sc.Task.Done)
	if err != nil {
		return s, err
	}
	if len(v.Unmet) == 0 {
		s.Outcome = &Outcome{Status: Done, Met: v.Met, Unchecked: v.Unchecked, Reason: strings.Join(v.Met, ", "), Summary: s.Last}
		sc.Task.settlePlan(s, s.Outcome)
		return s, nil
	}
	s.Outcome = &Outcome{Status: Failed, Reason: v.Unmet[0], Met: v.Met, Unmet: v.Unmet, Unchecked: v.Unchecked}
	return s, &StopError{*s.Outcome}
}

// Tool has one of the task's tools called, with arguments that are encoded as
// JSON; nil is none. That the tool failed is in the reply, not an error.
//
// A call during which the process died, and of which nobody knows whether it happened, is
// made again if it is a command that is known to build, test, lint or format; a person is
// asked about any other, unless interrupted says what becomes of it.
func (sc *Scope) Tool(name string, args any, interrupted ...Interruption) (ToolResult, error) {
	raw, err := json.Marshal(args)
	if err != nil {
		return ToolResult{}, fmt.Errorf("%s: encoding arguments: %w", name, err)
	}
	if string(raw) == "null" {
		raw = json.RawMessage("{}")
	}
	replies, err := sc.act(append(interrupted, turn.Recognized)[0], []llm.Call{{Name: name, Args: raw}})
	if err != nil {
		return ToolResult{}, err
	}
	return replies[0], nil
}
