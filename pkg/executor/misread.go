package executor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/llm"
)

// keepsThinking is the first revision whose transcripts have what models thought. No model
// is sent it again: see [turn.ModelRequest].
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

// maxDoubts is how many doubtful answers in a row the model is asked about;
// the next is taken for what it is: text. It may be about calls.
const maxDoubts = 2

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

// maxEmpty is how many answers in a row may have nothing in them.
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
