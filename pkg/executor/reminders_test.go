package executor_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/llm"
)

// reminders returns the messages that the loop sent to the model, without the prompt.
func reminders(msgs []llm.Message) (out []string) {
	for i, m := range msgs {
		if m.Role == llm.User && i > 1 {
			out = append(out, m.Text)
		}
	}
	return out
}

// TestNearTheEnd checks that the model is reminded once that little is left,
// with what is still to be done, and that no turn gets two reminders.
func TestNearTheEnd(t *testing.T) {
	var turns []llm.Message
	for i := range 12 {
		turns = append(turns, calls(call("add", fmt.Sprintf(`{"n":%d}`, i+1))))
	}
	w := newWorld(t, turns...)
	s, err := w.run(t, new(flow.Memory), w.task(func(t *executor.Task) {
		t.Limits.Turns, t.Done = 10, executor.Criterion{All: []executor.Criterion{{Signal: "READY"}, {Artifact: "other"}}}
	}))
	if err == nil || s.Outcome.Limit != "turns" {
		t.Fatalf("%v, %+v", err, s.Outcome)
	}
	got := reminders(w.last)
	if len(got) != 2 || !strings.HasPrefix(got[0], "Left: 2 of 10 turns. Still to be done: ") || !strings.Contains(got[0], `artifact "other" has not been produced`) {
		t.Errorf("reminders: %q", got)
	}
	for i := 1; i < len(w.last); i++ {
		if w.last[i].Role == llm.User && w.last[i-1].Role == llm.User {
			t.Errorf("two reminders in a turn: %q and %q", w.last[i-1].Text, w.last[i].Text)
		}
	}
}

// TestFailingToolIsPaused checks that a tool that only fails is refused for some turns,
// that the model gets a reminder, and that a change of files gives it back.
func TestFailingToolIsPaused(t *testing.T) {
	bad := func(n int) llm.Message { return calls(call("add", fmt.Sprintf(`{"n":-%d}`, n))) }
	peek := calls(call("peek", `{}`))
	w := newWorld(t, bad(1), bad(2), bad(3), bad(4), peek, peek, bad(5), say("done"))
	s, err := w.run(t, new(flow.Memory), w.task(nil))
	if err != nil {
		t.Fatalf("%v, %+v", err, s.Outcome)
	}
	var results []string
	for _, m := range w.last {
		if m.Role == llm.Tool && m.Name == "add" {
			results = append(results, m.Text)
		}
	}
	if len(results) != 5 || !strings.Contains(results[3], "may be called again in turn 7") || !strings.Contains(results[4], "negative amounts") {
		t.Errorf("the calls came back with %q", results)
	}
	all := strings.Join(reminders(w.last), "\n")
	if strings.Count(all, "add failed 3 times in the same way and is refused for the next 3 turns") != 1 {
		t.Errorf("reminders: %q", all)
	}

	w = newWorld(t, bad(1), bad(2), calls(call("add", `{"n":1}`)), bad(3), say("done"))
	if s, err := w.run(t, new(flow.Memory), w.task(nil)); err != nil || len(reminders(w.last)) != 0 || s.Called["add"] != 1 {
		t.Errorf("%v; reminders: %q", err, reminders(w.last))
	}
}

// TestCallBudget checks that a tool is offered and not run once its calls are
// used up.
func TestCallBudget(t *testing.T) {
	w := newWorld(t, calls(call("peek", `{}`)), calls(call("peek", `{}`)), calls(call("peek", `{}`)), say("done"))
	s, err := w.run(t, new(flow.Memory), w.task(func(t *executor.Task) { t.Limits.Calls = map[string]int{"peek": 2} }))
	if err != nil || s.Called["peek"] != 2 || !strings.Contains(s.OfferedTools, "peek") {
		t.Fatalf("%v; called %v, offered %s", err, s.Called, s.OfferedTools)
	}
	if got := w.last[len(w.last)-1].Text; got != "peek may be called 2 times in this job, and was" {
		t.Errorf("reminders: %q", got)
	}
}

// TestTooEarly checks that a call that lacks its input names what makes it.
func TestTooEarly(t *testing.T) {
	w := newWorld(t, calls(call("report", `{}`)), say("done"))
	if _, err := w.run(t, new(flow.Memory), w.task(nil)); err != nil {
		t.Fatal(err)
	}
	if got := w.last[len(w.last)-1].Text; got != "report needs sum first; add makes sum" {
		t.Errorf("reminders: %q", got)
	}
}

// TestGuidanceIsSmall bounds what the loop adds to a conversation of ordinary
// work: of the bytes that a job of 40 turns sends, less than three in a
// hundred.
func TestGuidanceIsSmall(t *testing.T) {
	var turns []llm.Message
	for i := range 39 {
		m := calls(call("add", fmt.Sprintf(`{"n":%d}`, i+1)), call("peek", `{}`))
		m.Text = "I add the next amount of the list and look at what the counter says then."
		turns = append(turns, m)
	}
	w := newWorld(t, append(turns, say("Everything is added up."))...)
	if _, err := w.run(t, new(flow.Memory), w.task(func(t *executor.Task) {
		t.System = strings.Repeat("You add up. ", 100)
		t.Limits.Turns = 45
	})); err != nil {
		t.Fatal(err)
	}
	all, err := json.Marshal(w.last)
	if err != nil {
		t.Fatal(err)
	}
	guidance := len(strings.Join(reminders(w.last), ""))
	t.Logf("%d of %d bytes", guidance, len(all))
	if guidance == 0 || guidance*100 > 3*len(all) {
		t.Errorf("%d of %d bytes are guidance", guidance, len(all))
	}
}
