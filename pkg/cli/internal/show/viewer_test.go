package show

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/llm"
)

// hostileText is text that would act on a terminal, were it not escaped.
const hostileText = "a\x1b[2J\x1b]0;title\x07\u202eb\r\x9b31m"

func data(t *testing.T, v any) json.RawMessage {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// calls are events of finished calls with a text in each place that a call shows.
func calls(t *testing.T, text string) (evs []event.Event) {
	args := map[string]any{"command": text + "\n" + text, "path": text, "old": "same\n" + text, "new": "same\n" + text + "!", "content": text, "patch": text, "blocks": text + "\n<<<<<<< SEARCH\n" + text + "\n=======\nx\n>>>>>>> REPLACE"}
	for i, name := range []string{"shell", "run_tests", "edit_file", "write_file", "apply_patch", "edit_blocks", text} {
		evs = append(evs, event.Event{Kind: event.StepFinished, Step: turn.ToolStep, Name: name, Path: fmt.Sprint(1, ".", i+1), Text: text,
			Data: data(t, map[string]any{"args": args, "failed": name == "run_tests", "text": "exit code 0\n" + text})})
	}
	return evs
}

// says are the events of a response of a model.
func says(t *testing.T, path, text, thinking string, called ...string) (evs []event.Event) {
	evs = append(evs, event.Event{Kind: event.StepStarted, Step: turn.ModelStep, Path: path})
	delta := func(text string, data json.RawMessage) {
		for _, piece := range strings.SplitAfter(text, " ") {
			evs = append(evs, event.Event{Kind: event.Delta, Step: turn.ModelStep, Path: path, Text: piece, Data: data})
		}
	}
	delta(thinking, json.RawMessage(`{"thinking":true}`))
	delta(text, nil)
	return append(evs, event.Event{Kind: event.StepFinished, Step: turn.ModelStep, Path: path,
		Data: data(t, map[string]any{"text": text, "calls": append([]string{}, called...), "usage": llm.Usage{In: 900, Out: 100}})})
}

// watch shows events as a terminal of so many columns would.
func watch(cols int, evs []event.Event) string {
	var out bytes.Buffer
	s := kit.NewColor(&out, cols)
	s.Live = true
	v := &Viewer{Screen: s, calls: numbering{of: map[string]int{}}, status: progress{start: time.Now(), window: 4000}}
	for _, ev := range evs {
		v.show(ev)
		v.draw()
	}
	v.clear()
	return out.String()
}

// What a server does before it answers is in the last line, and not part of the
// answer.
func TestWaitingForTheServer(t *testing.T) {
	got := watch(80, []event.Event{{Kind: event.StepStarted, Step: turn.ModelStep, Path: "1"},
		{Kind: event.Delta, Step: turn.ModelStep, Path: "1", Text: "loading qwen3:8b", Data: json.RawMessage(`{"waiting":true}`)}})
	if !strings.Contains(got, "waiting for the model: loading qwen3:8b") || strings.Contains(got, "thinking") {
		t.Errorf("it shows %q", got)
	}
}

// Why a request failed is shown once: as the reason of the job's end, or where the job
// goes on or ends for another.
func TestFailedRequest(t *testing.T) {
	failed := event.Event{Kind: event.StepFinished, Step: turn.ModelStep, Path: "1", Error: "lab: bad key (HTTP 401)"}
	end := func(reason string) event.Event {
		return event.Event{Kind: event.JobFinished, Data: data(t, jobs.Final{Status: jobs.Failed, Reason: reason})}
	}
	for _, tc := range []struct {
		evs  []event.Event
		want int
	}{
		{[]event.Event{failed, end("lab: bad key (HTTP 401)")}, 0},
		{[]event.Event{failed, end("step a: lab: bad key (HTTP 401)")}, 0},
		{[]event.Event{failed, end("another")}, 1},
		{[]event.Event{failed, {Kind: event.StepStarted, Step: turn.ModelStep, Path: "2"}, end("lab: bad key (HTTP 401)")}, 1},
	} {
		if got := watch(80, tc.evs); strings.Count(got, "bad key") != tc.want {
			t.Errorf("%v: %q, want it %d times", tc.evs, got, tc.want)
		}
	}
}

// The line of a finish says what is reported, and not always that it is done.
func TestFinishReports(t *testing.T) {
	for outcome, want := range map[string]string{"": "reports done", executor.Done: "reports done", string(jobs.NotNeeded): "reports not needed", string(jobs.CannotBeDone): "reports cannot be done"} {
		got := watch(80, []event.Event{{Kind: event.StepFinished, Step: turn.ToolStep, Name: "finish", Path: "1.1", Text: "Why.",
			Data: data(t, map[string]any{"args": map[string]string{"summary": "Why.", "outcome": outcome}, "text": "Why."})}})
		if !strings.Contains(plainText(got), want) {
			t.Errorf("%q shows %q, want %q", outcome, got, want)
		}
	}
}

// What a tool gives for a diff need not be one.
func TestDiffOfATool(t *testing.T) {
	for _, diff := range []string{"--- a/f\n", "x", "+++ b/f", "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n"} {
		got := plainText(watch(80, []event.Event{{Kind: event.StepFinished, Step: turn.ToolStep, Name: "write_file", Path: "1.1", Text: "f",
			Data: data(t, map[string]any{"args": map[string]string{"path": "f", "content": "b"}, "diff": diff})}}))
		if !strings.Contains(got, "write_file") || strings.Contains(diff, "@@") != strings.Contains(got, "1 -a") {
			t.Errorf("%q shows %q", diff, got)
		}
	}
}

// plainText removes the escape sequences of this program.
func plainText(s string) string { return ours.ReplaceAllString(s, "") }

// ours are the sequences that this program itself writes.
var ours = regexp.MustCompile("\x1b\\[[0-9;]*m|\r\x1b\\[K")

// Nothing that a model or a tool wrote acts on the terminal, in any of the views of
// a run.
func TestViewsEscape(t *testing.T) {
	evs := append(says(t, "1", "# "+hostileText+"\n\n- `"+hostileText+"` **"+hostileText+"**\n```\n"+hostileText+"\n```\n"+hostileText, hostileText, "shell"), calls(t, hostileText)...)
	evs = append(evs, event.Event{Kind: event.StepRetried, Step: turn.ModelStep, Path: "2", Error: hostileText, Text: hostileText})
	evs = append(evs, says(t, "2", hostileText, "")...)
	var out bytes.Buffer
	s := kit.NewColor(&out, 60)
	fmt.Fprint(s, watch(60, evs))
	log := NewLog(s)
	for _, ev := range evs {
		log.Log(ev)
	}
	finding := map[string]any{"file": hostileText, "line": 1, "severity": hostileText, "title": hostileText, "suggestion": hostileText}
	triage := map[string]any{"kind": hostileText, "severity": hostileText, "area": hostileText, "confidence": hostileText, "next_step": hostileText, "reproduction": hostileText, "files": []any{map[string]any{"path": hostileText, "reason": hostileText}}}
	Product(s, &adroit.ArtifactList{Job: "J1", Artifacts: map[string]executor.Artifact{
		"findings": {Value: data(t, []any{finding})}, "triage": {Value: data(t, triage)}, "content": {Value: data(t, hostileText)}, hostileText: {Value: data(t, hostileText)},
	}}, "")
	message := llm.Message{Role: llm.Tool, Name: hostileText, Text: hostileText, Thinking: hostileText, Calls: []llm.Call{{Name: hostileText, Args: data(t, map[string]any{"a": hostileText + "\n" + hostileText})}, {Name: "x", Malformed: hostileText, Raw: hostileText}}}
	Transcript(s, &adroit.Transcript{Job: "J1", Turns: []adroit.Turn{{Turn: 1, Model: hostileText, New: []llm.Message{message}, Tools: []llm.ToolSpec{{Name: hostileText}}}}, Rest: []llm.Message{message}})
	Jobs(s, []adroit.JobSummary{{Job: &jobs.Job{ID: "J1", Agent: hostileText, Status: jobs.Done}}}, time.Now(), func(string) string { return hostileText })
	got := plainText(out.String())
	if !strings.Contains(got, `\x1b]0;title\x07`) {
		t.Error("the text is not shown at all")
	}
	for l := range strings.SplitSeq(got, "\n") {
		if kit.Sanitize(l) != l {
			t.Errorf("acts on the terminal: %q", l)
		}
	}
}

// A terminal shows what the model writes line by line, once, the thinking folded,
// and no row is wider than it.
func TestWatch(t *testing.T) {
	text := "I look at **cart.go** first, which has `Total`, and that is a line which has to be broken into several rows.\n\n1. a list item that is long enough to be broken as well\n\n" + "```go\nfunc main() {}\n```\nDone."
	evs := says(t, "1", text, "It subtracts. ", "edit_file")
	evs = append(evs, event.Event{Kind: event.StepFinished, Step: turn.ToolStep, Name: "edit_file", Path: "1.1", Text: "cart.go +1 -1", Data: data(t, map[string]any{"args": map[string]any{"path": "cart.go", "old": "func f() {\n\treturn a - b\n}", "new": "func f() {\n\treturn a + b\n}"}})},
		event.Event{Kind: event.StepFinished, Step: turn.ToolStep, Name: "shell", Path: "1.2", Text: "exit code 1", Data: data(t, map[string]any{"failed": true, "args": map[string]any{"command": "make"}, "text": "exit code 1\n1\n2\nadroit: the command failed, and it tried to reach what is not there, so that this line has to be broken into rows, of which there are not more than three in all, the last one cut\n[changed: x]\n"})},
		event.Event{Kind: event.StepFinished, Step: turn.ToolStep, Name: "write_file", Path: "1.3", Text: "not run: the mode is plan, in which this job plans and changes nothing", Data: data(t, map[string]any{"failed": true})},
		event.Event{Kind: event.StepRetried, Step: turn.ModelStep, Path: "2", Error: "overloaded", Text: "attempt 2 of 5 in 1s"},
		event.Event{Kind: event.StepRetried, Step: turn.ModelStep, Path: "2", Error: "overloaded", Text: "attempt 3 of 5 in 2s"})
	evs = append(evs, says(t, "2", "The last words.", "")...)
	evs = append(evs, event.Event{Kind: event.JobFinished, Data: data(t, map[string]any{"status": "done", "summary": "The last words."})})
	got := watch(44, evs)
	parts := strings.Split(strings.ReplaceAll(got, "\r\x1b[K", "\x00"), "\n")
	var shown []string
	for _, l := range parts {
		shown = append(shown, l[strings.LastIndexByte(l, 0)+1:])
		for draft := range strings.SplitSeq(l, "\x00") {
			if n := kit.Columns(plainText(draft)); n > 44 {
				t.Errorf("%d columns: %q", n, draft)
			}
		}
	}
	if !strings.Contains(got, "context 25% of 4,000") && !strings.Contains(got, "context 25%") {
		t.Errorf("no meter:\n%q", got)
	}
	dirtest.Golden(t, *update, "testdata/watch.golden", []byte(strings.ReplaceAll(strings.Join(shown, "\n"), "\x1b", "E")))
	if strings.Contains(strings.Join(shown, "\n"), "The last words.") {
		t.Error("the last words are the outcome's to print")
	}
}

// Pieces that come late, or that were lost, do not show a text twice or in part.
func TestDeltas(t *testing.T) {
	evs := says(t, "1", "One line.\nAnother line.\n", "", "shell")
	late := append(append([]event.Event{}, evs...), evs[2])
	if got := plainText(watch(80, late)); strings.Count(got, "     One line.\n") != 1 || strings.Count(got, "     Another line.\n") != 1 {
		t.Errorf("%q", got)
	}
	lost := append(append([]event.Event{}, evs[:3]...), evs[len(evs)-1])
	if got := plainText(watch(80, lost)); !strings.Contains(got, "Another line.\n") || strings.Count(got, "One line.\n") != 1 {
		t.Errorf("%q", got)
	}
	if got := watch(80, says(t, "1", `{"plan": ["a", "b"]}`, "", "shell")); strings.Contains(got, "plan") {
		t.Errorf("what programs read is shown: %q", got)
	}
}

// What a tool says of itself is in the last line, also if it comes before the
// events that the job keeps: those of its begin and of the step before.
func TestToolProgress(t *testing.T) {
	got := plainText(watch(80, []event.Event{
		{Kind: event.StepStarted, Step: turn.ModelStep, Path: "1"},
		{Kind: event.Delta, Step: turn.ToolStep, Name: "run_tests", Path: "2", Text: "compiling\n"},
		{Kind: event.StepFinished, Step: turn.ModelStep, Path: "1"},
		{Kind: event.StepStarted, Step: turn.ToolStep, Name: "run_tests", Path: "2"},
	}))
	if !strings.Contains(got, "run_tests: compiling") {
		t.Errorf("the last line does not say what run_tests does:\n%s", got)
	}
	if strings.Contains(got, "waiting for the model: compiling") {
		t.Errorf("the model is said to compile:\n%s", got)
	}
}

// The viewer numbers each call once, also when a resumed run recalls it or performs
// it again, says what was recalled and nothing else, and never writes past the width.
func TestViewer(t *testing.T) {
	var out bytes.Buffer
	v := &Viewer{Screen: &kit.Screen{Writer: &out, Cols: 40}, calls: numbering{of: map[string]int{"1.1": 1, "1.2": 2}, number: 2}}
	data, err := json.Marshal(map[string]any{"failed": true})
	if err != nil {
		t.Fatal(err)
	}
	for _, ev := range []event.Event{
		{Kind: event.StepRecalled, Step: "tool", Name: "read_file", Path: "1.1"},
		{Kind: event.StepStarted, Step: "tool", Name: "edit_file", Path: "1.2"},
		{Kind: event.StepFinished, Step: "tool", Name: "edit_file", Path: "1.2", Error: "interrupted: it may or may not have happened"},
		{Kind: event.StepFinished, Step: "tool", Name: "run_tests", Path: "1.3", Text: "2 of 14 failed", Took: 1200 * time.Millisecond, Data: data},
		{Kind: event.Note, Text: "the tool crashed\nstack"},
	} {
		v.show(ev)
	}
	got := out.String()
	if strings.Contains(got, "stack") {
		t.Errorf("more than the first line of a note is shown:\n%s", got)
	}
	for l := range strings.SplitSeq(got, "\n") {
		if utf8.RuneCountInString(l) > 40 {
			t.Errorf("wider than 40: %q", l)
		}
	}
	if !strings.HasPrefix(got, "     step 1 recalled, no model calls\n") {
		t.Errorf("it does not begin with what was recalled:\n%s", got)
	}
	if !strings.Contains(got, "  2  edit_file ") || !strings.Contains(got, "  3  run_tests ") {
		t.Errorf("numbers are wrong:\n%s", got)
	}
}
