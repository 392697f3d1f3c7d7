package turn

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
)

// kinds returns tools by their needs; their bodies are missing.
func kinds(name string) (tools.Tool, bool) {
	needs, ok := map[string]tools.Caps{"read": tools.Read, "edit": tools.Write, "run": tools.Exec, "ask": 0}[name]
	return tools.Tool{Metadata: tools.Metadata{Name: name, Needs: needs, Paths: []string{"path"}}}, ok
}

// talk makes a conversation of calls, one a turn: name, arguments, and an
// exclamation mark in front of the name if it failed.
func talk(calls ...string) (msgs []llm.Message) {
	for i, c := range calls {
		name, args, _ := strings.Cut(c, " ")
		name, failed := strings.CutPrefix(name, "-")
		id := fmt.Sprintf("call%05d", i)
		msgs = append(msgs, llm.Message{Role: llm.Assistant, Calls: []llm.Call{{ID: id, Name: name, Args: json.RawMessage(args)}}},
			llm.Message{Role: llm.Tool, CallID: id, Name: name, Failed: failed, Text: fmt.Sprintf("result %d\n", i) + strings.Repeat("some words\n", 60)})
	}
	return msgs
}

func TestSuperseded(t *testing.T) {
	spared := []string{`ask {"path":"y"}`, `ask {"path":"z"}`} // the last two turns
	for _, c := range []struct {
		calls []string
		want  string // why the first result goes; "" if it stays
	}{
		{[]string{`read {"path":"a"}`}, ""},
		{[]string{`read {"path":"a"}`, `read {"path":"a"}`}, "made again"},
		{[]string{`read {"path":"a"}`, `read {"path":"./a","x":1}`}, "read again"},
		{[]string{`read {"path":"a","from":1,"lines":9}`, `read {"path":"a","from":10,"lines":9}`}, ""},
		{[]string{`read {"path":"a","from":5,"lines":5}`, `read {"path":"a","from":1,"lines":20}`}, "read again"},
		{[]string{`read {"path":"a"}`, `read {"path":"a","from":1,"lines":20}`}, ""},
		{[]string{`read {"path":"a"}`, `-read {"path":"a"}`}, ""},
		{[]string{`read {"path":"a"}`, `edit {"path":"a"}`}, "changed later"},
		{[]string{`read {"path":"a"}`, `-edit {"path":"a"}`}, ""},
		{[]string{`read {"path":"a"}`, `edit {"path":"b"}`}, ""},
		{[]string{`-read {"path":"a"}`}, "a failed attempt"},
		{[]string{`run {"path":"a"}`}, "an old output"},
		{[]string{`ask {"path":"a"}`}, ""},
		{[]string{`gone {"path":"a"}`}, ""},
	} {
		tr := NewTrimmer(talk(append(slices.Clone(c.calls), spared...)...), kinds, func(string) string { return "0123456789ab" })
		tr.Drop()
		got := tr.Messages[1].Text
		if c.want == "" {
			if !strings.HasPrefix(got, "result 0\nsome") {
				t.Errorf("%v: dropped: %s", c.calls, got)
			}
			continue
		}
		if !strings.Contains(got, c.want) || !strings.Contains(got, `read_result with id "0123456789ab"`) || len(got) > 400 {
			t.Errorf("%v: %q, want %q", c.calls, got, c.want)
		}
		if tr.Weight != Weigh(tr.Messages...) {
			t.Errorf("%v: weighs %d, counted %d", c.calls, Weigh(tr.Messages...), tr.Weight)
		}
	}
}

// TestTrimTwice finds nothing left to do the second time, and spares the last
// turns.
func TestTrimTwice(t *testing.T) {
	var calls []string
	for i := range 30 {
		calls = append(calls, fmt.Sprintf(`%s {"path":"%d","n":%d}`, []string{"read", "edit", "run", "-run", "ask"}[i%5], i%3, i))
	}
	msgs := talk(calls...)
	for i := range msgs {
		if i%4 == 1 {
			msgs[i].Text += strings.Repeat("much more of it, größer\n", 200)
		}
	}
	trim := func(msgs []llm.Message) *Trimmer {
		tr := NewTrimmer(msgs, kinds, func(string) string { return "0123456789ab" })
		tr.Drop()
		tr.Shorten(func() bool { return true })
		return tr
	}
	once := trim(msgs)
	twice := trim(once.Messages)
	if once.Dropped == 0 || once.Shortened == 0 || twice.Dropped+twice.Shortened > 0 {
		t.Errorf("dropped %d and %d, shortened %d and %d", once.Dropped, twice.Dropped, once.Shortened, twice.Shortened)
	}
	for i := range msgs {
		if once.Messages[i].Text != twice.Messages[i].Text || i >= len(msgs)-4 && once.Messages[i].Text != msgs[i].Text {
			t.Errorf("message %d: %q", i, twice.Messages[i].Text)
		}
	}
	twice.Squeeze(func() bool { return true })
	for _, m := range twice.Messages {
		for _, c := range m.Calls {
			if !json.Valid(c.Args) {
				t.Errorf("%s", c.Args)
			}
		}
	}
}
