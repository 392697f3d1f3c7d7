package executor

import (
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/executor/stepio"
	"github.com/adroit-run/adroit/internal/executor/toolcall"
	"github.com/adroit-run/adroit/pkg/llm"
)

// turnFeedback is what reading an answer brought to light that the model should know.
// It lives for one turn: a run that is resumed within the turn recalls the
// answer and its feedback.
type turnFeedback struct {
	lost    bool   // the server passed on nothing of a call
	doubt   string // why something was not taken for a call
	mode    toolcall.Mode
	repairs []string
	stopped string   // the bound that ended a model at its work
	refused []string // what it asked there and was not allowed
	silent  string   // what is known of an answer with nothing in it
}

func (s *State) readFeedback(a *stepio.ModelResponse) {
	s.feedback = turnFeedback{lost: a.Dropped() && len(a.Message.Calls) == 0, doubt: a.UnreadCall, mode: a.CallMode, repairs: a.Repairs}
	switch {
	case a.Stop == llm.StopFilter:
		s.feedback.silent = "; the provider withheld the last one"
	case a.Stop == llm.StopLength:
		s.feedback.silent = "; the last one was cut at its limit of tokens"
	case strings.TrimSpace(a.Message.Thinking) != "":
		s.feedback.silent = "; the last one had only thoughts"
	}
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
		s.addUserMessage("No tool was called: %s. If you meant to call one, call it now, %s. If you did not, answer again.", h.doubt, callForm(h.mode))
	default:
		return false
	}
	s.Misread++
	return true
}

// callForm describes to a model, in a few words, how it calls a tool.
func callForm(w toolcall.Mode) string {
	switch w {
	case toolcall.Text:
		return `as <tool_call>{"name": "tool_name", "arguments": {"key": "value"}}</tool_call> on a line of its own, with nothing behind it`
	case toolcall.Constrained:
		return `as {"next": {"tool": "tool_name", "arguments": {"key": "value"}}} and nothing else`
	}
	return "through the interface for tools and not in the text of your answer"
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
