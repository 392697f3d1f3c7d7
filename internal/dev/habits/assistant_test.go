package habits

import (
	"testing"

	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/executor"
)

// TestAssistant: weak models write a change only as text for the agent that also answers
// questions, and then claim to have made it. That is not an answer, and if they make the change in
// the end the work is done.
func TestAssistant(t *testing.T) {
	for _, write := range []string{
		"edit_file(path=\"calc.sh\", old=" + text(wrong) + ", new=" + text(right) + ")",
		fence("diff", "--- a/calc.sh\n+++ b/calc.sh\n@@ -4 +4 @@\n-"+wrong+"\n+"+right),
		"calc.sh\n" + fence("", "<<<<<<< SEARCH\n"+wrong+"\n=======\n"+right+"\n>>>>>>> REPLACE"),
	} {
		for times, want := range map[int]string{2: executor.Done, always: executor.Stuck} {
			h := habit{name: "only writes it", times: times, does: func(t situation) (answer, bool) {
				if t.try == 0 {
					return says(write), t.step == "edit"
				}
				return says("Done, changed."), t.step == "edit"
			}}
			_, got := runModel(t, h, &jobs[0], turn.Native, "openai", func(m *model) { m.agent = "assistant" })
			if got.status != want || got.done != (want == executor.Done) || len(got.wrong) > 0 {
				t.Errorf("%q, %d times: %+v, want %s", write, times, got, want)
			}
		}
	}
}
