package executor

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
)

// kinds are tools by what they need; nothing of them runs.
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
		tr := newTrimmer(talk(append(slices.Clone(c.calls), spared...)...), kinds, func(string) string { return "0123456789ab" })
		tr.drop()
		got := tr.msgs[1].Text
		if c.want == "" {
			if !strings.HasPrefix(got, "result 0\nsome") {
				t.Errorf("%v: dropped: %s", c.calls, got)
			}
			continue
		}
		if !strings.Contains(got, c.want) || !strings.Contains(got, `read_result with id "0123456789ab"`) || len(got) > 400 {
			t.Errorf("%v: %q, want %q", c.calls, got, c.want)
		}
		if tr.w != weigh(tr.msgs...) {
			t.Errorf("%v: weighs %d, counted %d", c.calls, weigh(tr.msgs...), tr.w)
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
	trim := func(msgs []llm.Message) *trimmer {
		tr := newTrimmer(msgs, kinds, func(string) string { return "0123456789ab" })
		tr.drop()
		tr.shorten(func() bool { return true })
		return tr
	}
	once := trim(msgs)
	twice := trim(once.msgs)
	if once.dropped == 0 || once.shortened == 0 || twice.dropped+twice.shortened > 0 {
		t.Errorf("dropped %d and %d, shortened %d and %d", once.dropped, twice.dropped, once.shortened, twice.shortened)
	}
	for i := range msgs {
		if once.msgs[i].Text != twice.msgs[i].Text || i >= len(msgs)-4 && once.msgs[i].Text != msgs[i].Text {
			t.Errorf("message %d: %q", i, twice.msgs[i].Text)
		}
	}
	twice.squeeze(func() bool { return true })
	for _, m := range twice.msgs {
		for _, c := range m.Calls {
			if !json.Valid(c.Args) {
				t.Errorf("%s", c.Args)
			}
		}
	}
}
