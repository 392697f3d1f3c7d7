package executor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/calling/schema"
	"github.com/adroit-run/adroit/internal/stored"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
)

// An Interruption selects how a call is handled that was interrupted when the process
// died, so that nobody knows whether it had its effect. Its zero value asks a person.
type Interruption = turn.Interruption

// Act performs calls with the same rules, approvals, artifacts and accounts as a model's.
// Calls that only read or think run at once, the others in order. A failed call is a
// Reply, as it is to a model.
//
// The error is a *StopError if a limit of the task was reached before the calls were
// made.
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
	replies, err := act(sc.Run, t, s, caller{true, interrupted, t.Revision >= turn.TypedResults}, calls)
	if err != nil {
		return nil, err
	}
	talk := s.New
	s.addTurn(t, llm.Message{Calls: calls}, calls, replies)
	s.New = talk // the model has not made these calls
	return replies, nil
}

// Finish ends the run: it is done if err is nil and the task's criterion is met. Any
// error of a workflow is the reason for a failure; an error about a limit keeps that
// status.
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
		sc.Task.markUnchanged(s, s.Outcome)
		return s, nil
	}
	s.Outcome = &Outcome{Status: Failed, Reason: v.Unmet[0], Met: v.Met, Unmet: v.Unmet, Unchecked: v.Unchecked}
	return s, &StopError{*s.Outcome}
}

// Tool calls one of the task's tools with arguments that are encoded as JSON; nil means
// none. A failure of the tool is reported in the reply, not as an error.
//
// A call during which the process died, so that nobody knows whether it had its effect,
// is repeated if it is a command that is known to build, test, lint or format; a person
// is asked about any other, unless interrupted says otherwise.
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

// keepsThinking is the first revision whose transcripts contain the models' reasoning. It
// is never sent to a model again: see [turn.ModelRequest].
const keepsThinking = 8

// confirmsText is the first revision in which a change that stands in an answer's text alone is
// asked about where a task may be done without one, and in which a refusal ends a run.
const confirmsText = 10

const (
	mostThinking = 32 << 10 // bytes of what a model thought that are kept of an answer
	mostRepeated = 1500     // and shown to it again if it was all that came
)

// tailOf is the end of a text, of at most so many bytes.
func tailOf(s string, most int) string {
	if s = strings.TrimSpace(strings.ToValidUTF8(s, "\uFFFD")); len(s) <= most {
		return s
	}
	return "[…] " + strings.ToValidUTF8(s[len(s)-most:], "")
}

func (s *State) readFeedback(a *turn.ModelResponse) {
	s.feedback = turnFeedback{lost: a.Dropped() && len(a.Message.Calls) == 0, doubt: a.UnreadCall, mode: a.CallMode, repairs: a.Repairs}
	switch {
	case a.Stop == llm.StopFilter:
		s.feedback.filter = true
		s.feedback.silent = "; the provider withheld the last one"
	case a.Stop == llm.StopLength:
		s.feedback.silent = "; the last one was cut at its limit of tokens"
	case strings.TrimSpace(a.Message.Thinking) != "":
		s.feedback.silent = "; the last one had only thoughts"
	}
	s.feedback.thought = a.Message.Thinking
	if !s.feedback.lost && s.feedback.doubt == "" {
		s.Misread = 0
	}
}

// maxDoubts bounds the doubtful answers in a row that the model is asked about. The next
// is judged as it stands, and is no end of success from revision doubtsUnmet on.
const (
	maxDoubts   = 2
	doubtsUnmet = 11
)

// askAgain asks the model about a call that was lost or not taken for one, and
// reports whether it did: such an answer does not end the run.
func (s *State) askAgain(answer llm.Message) bool {
	if len(answer.Calls) > 0 || s.Claim != nil {
		return false
	}
	switch h := s.feedback; {
	case h.lost && answer.Text != "" && s.Misread < maxEmpty:
		// Without text it counts as an empty answer, which is bounded too.
		s.addUserMessage("The server could not read your last tool call and lost it, so that nothing was run. Call the tool again, with valid JSON arguments.")
	case h.doubt != "" && s.Misread < maxDoubts:
		s.addUserMessage("No tool was called: %s. If you meant to call one, call it now, %s. If you did not, answer again.", h.doubt, h.mode.Form())
	default:
		return false
	}
	s.Misread++
	return true
}

// refused ends the run if the model, or its provider for it, has refused to answer in the
// field or with the reason that its API has for that: in words it is like any answer.
func (t *Task) refused(s *State, answer llm.Message) bool {
	if t.Revision < confirmsText || !s.feedback.filter || len(answer.Calls) > 0 {
		return false
	}
	why := "the model or its provider refused to answer"
	if line := spelling.FirstLine(answer.Text); line != "" {
		why += ": " + line
	}
	s.Outcome = &Outcome{Status: CannotBeDone, Reason: why, Summary: answer.Text}
	return true
}

// repairNote lists, beside the first result of a turn, what had to be repaired in
// its calls, each thing once: the model has to know what was run in its name.
func (s *State) repairNote() string {
	var now []string
	for _, r := range s.feedback.repairs {
		if !slices.Contains(s.Repairs, r) && len(s.Repairs) < maxRepairs {
			now, s.Repairs = append(now, r), append(s.Repairs, r)
		}
	}
	if now == nil {
		return ""
	}
	return "\n[Read your calls with a repair: " + strings.Join(now, "; ") + ". Write them in the exact form next time.]"
}

const maxRepairs = 8

// maxEmpty bounds the number of empty answers in a row.
const maxEmpty = 3

func (s *State) empty(t *Task) {
	s.Empty++
	if s.Empty >= maxEmpty {
		status := Silent
		if t.Revision < 4 {
			status = Stuck
		}
		s.Outcome = &Outcome{Status: status, Reason: fmt.Sprintf("the model gave %d answers in a row with neither text nor a readable tool call%s", s.Empty, s.feedback.silent)}
		return
	}
	if len(s.feedback.refused) > 0 {
		s.addUserMessage("You stopped without a word. What you asked was refused:\n- %s\nFind a way without it, or end and say what you could not do.", strings.Join(s.feedback.refused, "\n- "))
		return
	}
	if thought := tailOf(s.feedback.thought, mostRepeated); t.Revision >= keepsThinking && thought != "" {
		s.addUserMessage("Your last answer had thoughts only, which do nothing. They ended:\n\n%s\n\nNow answer, or call the tool.", thought)
		return
	}
	s.addUserMessage("Your last answer had neither text nor a tool call that could be read. If you meant to call a tool, call it again with valid JSON arguments. If you are done, say so.")
}

// noteCallMode notes how the way of an answer worked out.
func (s *State) noteCallMode(t *Task, a *turn.ModelResponse) {
	if a.CallMode == "" || a.Malformed == "" {
		if len(a.Message.Calls) > 0 {
			s.Malformed = 0
		}
		return
	}
	s.Malformed++
	if s.Malformed < turn.MaxMalformed || t.CallMode != "" && t.CallMode != turn.Auto || a.CallMode == turn.Text {
		return
	}
	s.Malformed = 0
	if !slices.ContainsFunc(s.ModeFailures, func(b turn.ModeFailure) bool { return b.Mode == a.CallMode }) {
		s.ModeFailures = append(s.ModeFailures, turn.ModeFailure{Mode: a.CallMode, Why: fmt.Sprintf("%s, %d times in a row", a.Malformed, turn.MaxMalformed)})
	}
}

// An Outcome is the status with which a run ended, and the reason.
type Outcome struct {
	Status string   `json:"status"` // one of those below
	Reason string   `json:"reason"`
	Code   string   `json:"code,omitempty"`  // of a failure
	Limit  string   `json:"limit,omitempty"` // turns, tokens, cost, time
	Met    []string `json:"met,omitempty"`
	Unmet  []string `json:"unmet,omitempty"`
	// Unchecked has the checks that neither passed nor failed, as in "not tested:
	// no tests found". A run may be done nevertheless: see Criterion.IfMissing.
	Unchecked []string `json:"unchecked,omitempty"`
	Summary   string   `json:"summary,omitempty"`
	Evidence  string   `json:"evidence,omitempty"`
}

// Statuses of an Outcome.
const (
	Done              = "done"
	Answered          = "answered"            // in words: what a change would have to prove was not asked for
	Planned           = "planned"             // a plan: nothing was changed or tested
	NotNeeded         = "not_needed"          // nothing has to be changed by the model's account, and the checks pass
	NotNeededUnproven = "not_needed_unproven" // by the model's account alone
	CannotBeDone      = "cannot_be_done"      // by the model's account
	Silent            = "went_silent"         // the model answers with nothing
	Limit             = "limit"
	Stuck             = "stuck"
	Failed            = "failed"
)

// outcomeStatuses has every status of an Outcome.
var outcomeStatuses = []string{Done, Answered, Planned, NotNeeded, NotNeededUnproven, CannotBeDone, Silent, Limit, Stuck, Failed}

// Succeeded reports whether a run with this outcome did what was asked.
func (o *Outcome) Succeeded() bool {
	switch o.Status {
	case Done, Answered, Planned, NotNeeded:
		return true
	}
	return false
}

// continuesOnMessage reports whether a person's message continues a run with this outcome
// without further action.
func (o *Outcome) continuesOnMessage() bool {
	return o.Status != Limit && o.Status != Failed
}

// A StopError is the error of a run that ended without being done. The state
// that comes with it has the partial result.
type StopError struct{ Outcome Outcome }

func (e *StopError) Error() string { return e.Outcome.Status + ": " + e.Outcome.Reason }

// Status returns the outcome's status, with which the job ends.
func (e *StopError) Status() string { return e.Outcome.Status }

// Reason is the outcome's reason.
func (e *StopError) Reason() string { return e.Outcome.Reason }

// A Claim is the model saying that it is done, in one turn.
type Claim struct {
	Word     string `json:"word,omitempty"`   // the signal it said, or finish
	Result   string `json:"result,omitempty"` // not_needed or cannot_be_done, "" for done
	Summary  string `json:"summary,omitempty"`
	Evidence string `json:"evidence,omitempty"`
}

// stepMessage returns the message with which a provider refused a request.
func stepMessage(err error) string {
	if se, ok := errors.AsType[*flow.StepError](err); ok {
		return se.Message
	}
	return err.Error()
}

// A Scope gives an agent's own workflow the run that it is part of, the pinned task,
// and the state so far with its usage. The workflow function decides what comes next:
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

// A raised records the raised limits of a part of a workflow. A part that a limit ended
// goes on with the limits that apply from there, so that its earlier steps replay
// unchanged.
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

// exceeded returns the outcome for a limit that the task has reached. It is nil if none
// is reached or a person has raised it since.
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
