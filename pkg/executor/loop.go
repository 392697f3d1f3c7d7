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
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/text/jsontext"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
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
		s.Asked = nil // it is the task
	} else if !resumed {
		s.Taint = t.Taint
		s.New = []llm.Message{{Role: llm.System, Text: t.System}, {Role: llm.User, Text: t.Prompt, Images: t.Images}}
		s.New = append(s.New, t.History...)
		for _, m := range slices.Backward(t.History) {
			if m.Role == llm.User {
				s.Asked = []llm.Message{m}
				break
			}
		}
	}
	t.Prompt = cmp.Or(s.CutPrompt, t.Prompt)
	t.useModel(s.Model)
	t.useMode(s)
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
	t.prepareJudging(s)
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
			return t.saveFull(r, s)
		} else if err != nil {
			return err
		} else if compacted {
			continue
		}
		answer, err := ask(r, t, s)
		if failed(s, err) {
			return t.saveFull(r, s)
		} else if errors.Is(err, errCompacted) {
			if err := flow.Save(r, s); err != nil {
				return err
			}
			continue
		} else if err != nil {
			return err
		}
		calls := t.resolveCalls(answer.Calls)
		replies, err := act(r, t, s, caller{}, calls)
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
		s.Outcome.Summary = t.stopSummary(answer.Text, s.WrapUp)
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
		if err := t.finishIfSilent(r, s, answer); err != nil || s.Outcome != nil {
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

// wrapUp stops the run after one more call without tools, in which the model
// describes where things stand.
func (s *State) wrapUp(o *Outcome) {
	s.WrapUp = o
	s.addUserMessage("You have to stop now: %s. You can call no more tools. Say in a few sentences what is done, what is not, and what should be done next.", o.Reason)
}

// withoutWrapUp returns the messages since the last request, without an unanswered
// request to sum up.
func (s *State) withoutWrapUp() []llm.Message {
	if last := len(s.New) - 1; s.WrapUp != nil && last >= 0 && s.New[last].Role == llm.User {
		return s.New[:last]
	}
	return s.New
}

// stopSummary returns the summary of a stopped run: the model's text without claims to be
// done, or the reason why it was stopped.
func (t *Task) stopSummary(text string, o *Outcome) string {
	if t.Revision == 0 {
		return text
	}
	var keep []string
	signals := t.Done.Signals()
	for line := range strings.Lines(text) {
		if !slices.Contains(signals, strings.TrimSpace(line)) {
			keep = append(keep, line)
		}
	}
	if words := strings.TrimSpace(strings.Join(keep, "")); words != "" {
		return words
	}
	return "Stopped: " + o.Reason + "."
}

// stop ends the run: at once where there is nothing to tell about, since the
// task has no tools and its answer is for a program; else by wrapUp.
func (t *Task) stop(s *State, o *Outcome) {
	if (len(t.Tools) == 0 || t.turn.none) && len(t.Output) > 0 {
		if s.Outcome == nil {
			s.Outcome = o
		}
		return
	}
	s.wrapUp(o)
}

const (
	leastRepeat = 400 // bytes of a text that is worth a reference
	mostShown   = 500 // texts
)

// fitReplies has the model shown no text of a call that only reads which stands in the
// conversation already, and has large results take the room that small ones leave.
func (t *Task) fitReplies(s *State, calls []llm.Call, replies []ToolResult) {
	if t.Revision < turn.SharedRoom {
		return
	}
	digests, sizes := make([]string, len(replies)), make([]int, len(replies))
	for i := range replies {
		r := &replies[i]
		if tool := t.tool(calls[i].Name); tool != nil && tool.Needs == tools.Read && t.pure(calls[i]) && !r.Failed && len(r.Images) == 0 && len(r.Text) >= leastRepeat {
			digests[i] = flow.Digest([]byte(calls[i].Name + "\n" + r.Text))[:16]
			if slices.Contains(s.Shown, digests[i]) || slices.Contains(digests[:i], digests[i]) {
				digests[i], r.shown = "", "Nothing of this has changed: it stands word for word in the result of your earlier call of "+calls[i].Name+".\n"
			}
		}
		sizes[i] = len(cmp.Or(r.shown, r.Text))
	}
	_, share := t.resultRoom(s, callContext{calls: len(calls)})
	var more []string
	for i, room := range turn.Share(sizes, share*len(calls)) {
		r := &replies[i]
		if share == 0 || room >= sizes[i] {
			continue
		}
		digests[i] = ""
		if next := r.cut(calls[i], room); next != "" {
			more = append(more, next)
		}
	}
	if more != nil {
		last := &replies[len(replies)-1]
		last.shown = strings.TrimSuffix(cmp.Or(last.shown, last.Text), "\n") + "\n[Together the results of this answer are too long. What was cut goes on with " + strings.Join(more, ", ") + "]\n"
	}
	for _, d := range digests {
		if d != "" {
			s.Shown = append(s.Shown, d)
		}
	}
	s.Shown = s.Shown[max(0, len(s.Shown)-mostShown):]
}

// cut shows less of a result and returns the call that shows more, "" if there is none.
func (r *ToolResult) cut(c llm.Call, room int) string {
	if r.Page != nil && r.Kept == nil {
		text, last := turn.CutPage(r.Text, *r.Page, room)
		r.shown = text
		var args map[string]any
		if last >= r.Page.To || json.Unmarshal(c.Args, &args) != nil {
			return ""
		}
		if args["from"] = last + 1; args["lines"] != nil {
			args["lines"] = r.Page.To - last
		}
		return callText(c.Name, args)
	}
	id, whole := "", len(r.Text)
	if r.Kept != nil {
		id, whole = r.Kept.ID, r.Kept.Bytes
	}
	text, lines := turn.CutMore(r.Text, whole, room, id)
	if r.shown = text; id == "" {
		return ""
	}
	return callText(turn.ReadResult, map[string]any{"id": id, "from": lines + 1})
}

// callText is a call as a model is shown it, "" if there is none.
func callText(name string, args map[string]any) string {
	b, err := jsontext.Marshal(args)
	if err != nil {
		return ""
	}
	return name + " " + string(b)
}
