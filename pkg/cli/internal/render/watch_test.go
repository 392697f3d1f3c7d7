package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/term"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
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
		evs = append(evs, event.Event{Kind: event.StepFinished, Step: StepTool, Name: name, Path: fmt.Sprint(1, ".", i+1), Text: text,
			Data: data(t, map[string]any{"args": args, "failed": name == "run_tests", "text": "exit code 0\n" + text})})
	}
	return evs
}

// says are the events of a response of a model.
func says(t *testing.T, path, text, thinking string, called ...string) (evs []event.Event) {
	evs = append(evs, event.Event{Kind: event.StepStarted, Step: StepModel, Path: path})
	delta := func(text string, data json.RawMessage) {
		for _, piece := range strings.SplitAfter(text, " ") {
			evs = append(evs, event.Event{Kind: event.Delta, Step: StepModel, Path: path, Text: piece, Data: data})
		}
	}
	delta(thinking, json.RawMessage(`{"thinking":true}`))
	delta(text, nil)
	return append(evs, event.Event{Kind: event.StepFinished, Step: StepModel, Path: path,
		Data: data(t, map[string]any{"text": text, "calls": append([]string{}, called...), "usage": llm.Usage{In: 900, Out: 100}})})
}

// watch shows events as a terminal of so many columns would.
func watch(cols int, evs []event.Event) string {
	var out bytes.Buffer
	s := term.NewColor(&out, cols)
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
	got := watch(80, []event.Event{{Kind: event.StepStarted, Step: StepModel, Path: "1"},
		{Kind: event.Delta, Step: StepModel, Path: "1", Text: "loading qwen3:8b", Data: json.RawMessage(`{"waiting":true}`)}})
	if !strings.Contains(got, "waiting for the model: loading qwen3:8b") || strings.Contains(got, "thinking") {
		t.Errorf("it shows %q", got)
	}
}

// plainText is what is left without the sequences of this program.
func plainText(s string) string { return ours.ReplaceAllString(s, "") }

// ours are the sequences that this program itself writes.
var ours = regexp.MustCompile("\x1b\\[[0-9]*m|\r\x1b\\[K")

// Nothing that a model or a tool wrote acts on the terminal, in any of the views of
// a run.
func TestViewsEscape(t *testing.T) {
	evs := append(says(t, "1", "# "+hostileText+"\n\n- `"+hostileText+"` **"+hostileText+"**\n```\n"+hostileText+"\n```\n"+hostileText, hostileText, "shell"), calls(t, hostileText)...)
	evs = append(evs, event.Event{Kind: event.StepRetried, Step: StepModel, Path: "2", Error: hostileText, Text: hostileText})
	evs = append(evs, says(t, "2", hostileText, "")...)
	var out bytes.Buffer
	s := term.NewColor(&out, 60)
	fmt.Fprint(s, watch(60, evs))
	log := NewLogViewer(s)
	for _, ev := range evs {
		log.Log(ev)
	}
	finding := map[string]any{"file": hostileText, "line": 1, "severity": hostileText, "title": hostileText, "suggestion": hostileText}
	triage := map[string]any{"kind": hostileText, "severity": hostileText, "area": hostileText, "confidence": hostileText, "next_step": hostileText, "reproduction": hostileText, "files": []any{map[string]any{"path": hostileText, "reason": hostileText}}}
	Product(s, &adroit.ArtifactList{Job: "J1", Artifacts: map[string]executor.Artifact{
		"findings": {Value: data(t, []any{finding})}, "triage": {Value: data(t, triage)}, "content": {Value: data(t, hostileText)}, hostileText: {Value: data(t, hostileText)},
	}}, "")
	message := llm.Message{Role: llm.Tool, Name: hostileText, Text: hostileText, Thinking: hostileText, Calls: []llm.Call{{Name: hostileText, Args: data(t, map[string]any{"a": hostileText + "\n" + hostileText})}, {Name: "x", Malformed: hostileText, Raw: hostileText}}}
	Transcript(s, &adroit.Transcript{Job: "J1", Turns: []adroit.TranscriptTurn{{Turn: 1, Model: hostileText, New: []llm.Message{message}, Tools: []llm.ToolSpec{{Name: hostileText}}}}, Rest: []llm.Message{message}})
	Jobs(s, []adroit.JobSummary{{Job: job("done")}}, noon, func(string) string { return hostileText })
	got := plainText(out.String())
	if !strings.Contains(got, `\x1b]0;title\x07`) {
		t.Error("the text is not shown at all")
	}
	for l := range strings.SplitSeq(got, "\n") {
		if strings.ContainsFunc(l, invisible) {
			t.Errorf("acts on the terminal: %q", l)
		}
	}
}

// A terminal shows what the model writes line by line, once, the thinking folded,
// and no row is wider than it.
func TestWatch(t *testing.T) {
	text := "I look at **cart.go** first, which has `Total`, and that is a line which has to be broken into several rows.\n\n1. a list item that is long enough to be broken as well\n\n" + "```go\nfunc main() {}\n```\nDone."
	evs := says(t, "1", text, "It subtracts. ", "edit_file")
	evs = append(evs, event.Event{Kind: event.StepFinished, Step: StepTool, Name: "edit_file", Path: "1.1", Text: "cart.go +1 -1", Data: data(t, map[string]any{"args": map[string]any{"path": "cart.go", "old": "func f() {\n\treturn a - b\n}", "new": "func f() {\n\treturn a + b\n}"}})},
		event.Event{Kind: event.StepFinished, Step: StepTool, Name: "shell", Path: "1.2", Text: "exit code 1", Data: data(t, map[string]any{"failed": true, "args": map[string]any{"command": "make"}, "text": "exit code 1\n1\n2\n3\n[changed: x]\n"})},
		event.Event{Kind: event.StepRetried, Step: StepModel, Path: "2", Error: "overloaded", Text: "attempt 2 of 5 in 1s"},
		event.Event{Kind: event.StepRetried, Step: StepModel, Path: "2", Error: "overloaded", Text: "attempt 3 of 5 in 2s"})
	evs = append(evs, says(t, "2", "The last words.", "")...)
	evs = append(evs, event.Event{Kind: event.JobFinished, Data: data(t, map[string]any{"status": "done", "summary": "The last words."})})
	got := watch(44, evs)
	parts := strings.Split(strings.ReplaceAll(got, "\r\x1b[K", "\x00"), "\n")
	var shown []string
	for _, l := range parts {
		shown = append(shown, l[strings.LastIndexByte(l, 0)+1:])
		for draft := range strings.SplitSeq(l, "\x00") {
			if n := columns(plainText(draft)); n > 44 {
				t.Errorf("%d columns: %q", n, draft)
			}
		}
	}
	if !strings.Contains(got, "context 25% of 4,000") && !strings.Contains(got, "context 25%") {
		t.Errorf("no meter:\n%q", got)
	}
	golden(t, "watch", []byte(strings.ReplaceAll(strings.Join(shown, "\n"), "\x1b", "E")))
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
	early := append([]event.Event{evs[2], {Kind: event.StepFinished, Step: StepTool, Name: "before", Path: "0"}}, evs...)
	if got := plainText(watch(80, early)); strings.Index(got, "  1  before") > strings.Index(got, "One One line.\n") {
		t.Errorf("a piece is shown before what was before its step: %q", got)
	}
	if got := watch(80, says(t, "1", `{"plan": ["a", "b"]}`, "", "shell")); strings.Contains(got, "plan") {
		t.Errorf("what programs read is shown: %q", got)
	}
}

func TestWrap(t *testing.T) {
	for _, tc := range []struct {
		text string
		n    int
		want string
	}{
		{"one two three", 7, "one two|three"}, {"one", 0, "one"}, {"abcdefgh", 3, "abc|def|gh"}, {"", 5, ""}, {"日本語 日本", 6, "日本語|日本"}, {"one  two", 4, "one|two"},
	} {
		if got := strings.Join(wrap(tc.text, tc.n), "|"); got != tc.want {
			t.Errorf("wrap(%q, %d) = %q, want %q", tc.text, tc.n, got, tc.want)
		}
	}
	for s, want := range map[string]int{"abc": 3, "日本": 4, "é": 1, "e\u0301": 1, "🙂": 2} {
		if got := columns(s); got != want {
			t.Errorf("columns(%q) = %d, want %d", s, got, want)
		}
	}
	if got := Cut("日本語日本語", 7); got != "日本..." {
		t.Error(got)
	}
}

func FuzzWrap(f *testing.F) {
	f.Add("one two 日本", 3)
	f.Fuzz(func(t *testing.T, s string, n int) {
		n %= 200
		rows := wrap(SanitizeLine(s), n)
		if n < 2 {
			return
		}
		for _, r := range rows {
			if columns(r) > n {
				t.Fatalf("wrap(%q, %d) has %q", s, n, r)
			}
		}
	})
}

// What a run produced is on the screen: findings, a triage, a text, all else by name.
func TestProduct(t *testing.T) {
	var out bytes.Buffer
	s := &term.Screen{Writer: &out, Cols: 60}
	Product(s, &adroit.ArtifactList{Job: "J1", Artifacts: map[string]executor.Artifact{
		"findings": {Value: json.RawMessage(`[{"file":"cart.go","line":41,"severity":"major","title":"Totals are rounded per line, which is a cent off now and then","suggestion":"Round once."}]`)},
		"triage":   {Value: json.RawMessage(`{"kind":"bug","severity":"minor","area":"cart","confidence":"high","next_step":"Round once.","files":[{"path":"cart.go","reason":"it rounds"}]}`)},
		"content":  {Value: data(t, "# Title\n"+strings.Repeat("line\n", maxProductLines+4))},
		"other":    {Value: json.RawMessage(`{"a":1}`)},
		"diff":     {Value: json.RawMessage(`"x"`)},
	}}, "")
	golden(t, "product", out.Bytes())
	out.Reset()
	Product(s, &adroit.ArtifactList{Job: "J1", Artifacts: map[string]executor.Artifact{"findings": {Value: json.RawMessage(`[]`)}, "content": {Value: json.RawMessage(`"The same."`)}}}, "The same.")
	if got := out.String(); got != "no findings\n" {
		t.Errorf("%q", got)
	}
}

// What a tool says of itself is in the last line, also if it comes before the
// events that the job keeps: those of its begin and of the step before.
func TestToolProgress(t *testing.T) {
	got := plainText(watch(80, []event.Event{
		{Kind: event.StepStarted, Step: StepModel, Path: "1"},
		{Kind: event.Delta, Step: StepTool, Name: "run_tests", Path: "2", Text: "compiling\n"},
		{Kind: event.StepFinished, Step: StepModel, Path: "1"},
		{Kind: event.StepStarted, Step: StepTool, Name: "run_tests", Path: "2"},
	}))
	if !strings.Contains(got, "run_tests: compiling") {
		t.Errorf("the last line does not say what run_tests does:\n%s", got)
	}
	if strings.Contains(got, "waiting for the model: compiling") {
		t.Errorf("the model is said to compile:\n%s", got)
	}
}
