package executor

import (
	"slices"
	"strings"

	"github.com/adroit-run/adroit/pkg/llm"
)

// wrapUp stops the run after one more call without tools, in which the model
// describes where things stand.
func (s *State) wrapUp(o *Outcome) {
	s.WrapUp = o
	s.addUserMessage("You have to stop now: %s. You can call no more tools. Say in a few sentences what is done, what is not, and what should be done next.", o.Reason)
}

// withoutWrapUp is what was said since the beginning, without a request to sum up that
// nobody answered.
func (s *State) withoutWrapUp() []llm.Message {
	if last := len(s.New) - 1; s.WrapUp != nil && last >= 0 && s.New[last].Role == llm.User {
		return s.New[:last]
	}
	return s.New
}

// lastWords are what a stopped run has to say: the model's text without claims
// to be done, or why it was stopped.
func (t *Task) lastWords(text string, o *Outcome) string {
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
