package executor

import (
	"testing"

	"github.com/adroit-run/adroit/internal/turn"
)

// TestLastWords checks that a stopped run never ends with a claim to be done.
func TestLastWords(t *testing.T) {
	task := Task{Work: Work{Done: Criterion{All: []Criterion{{Signal: "TASK_COMPLETE"}, {Artifact: "diff"}}}}, Revision: turn.Revision}
	for text, want := range map[string]string{
		"TASK_COMPLETE":                         "Stopped: the same call, 12 times over.",
		"":                                      "Stopped: the same call, 12 times over.",
		"Half of it is there.\nTASK_COMPLETE\n": "Half of it is there.",
		"I said TASK_COMPLETE too early.":       "I said TASK_COMPLETE too early.",
	} {
		if got := task.stopSummary(text, &Outcome{Reason: "the same call, 12 times over"}); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}
