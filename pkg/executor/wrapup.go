package executor

import (
	"slices"
	"strings"

	"github.com/adroit-run/adroit/pkg/llm"
)

// wrapUpPrefix begins the request to sum up.
const wrapUpPrefix = "You have to stop now:"

// wrapUp stops the run after one more call without tools, in which the model
// describes where things stand.
func (s *State) wrapUp(o *Outcome) {
	s.WrapUp = o
	s.addUserMessage(wrapUpPrefix+" %s. You can call no more tools. Say in a few sentences what is done, what is not, and what should be done next.", o.Reason)
}

// withoutWrapUp is a list of messages without a request to sum up at its end.
func withoutWrapUp(list []llm.Message) []llm.Message {
	if last := len(list) - 1; last >= 0 && strings.HasPrefix(list[last].Text, wrapUpPrefix) {
		return list[:last]
	}
	return list
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
