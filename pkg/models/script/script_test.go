package script

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/adroit-run/adroit/pkg/llm"
)

const twoTurns = `
turns:
  - thinking: Let me look.
    calls:
      - {name: read_file, args: {path: a.txt, n: 9007199254740993}}
      - name: word_count
        args:
          path: "b.txt"
          deep: [1, {x: true, "\e[1m": "\e\0\a<"}]
      - name: finish
    usage: {in: 10, out: 3}
  - error: {kind: rate_limit, message: slow down, retry_after: 2s, status: 429}
  - error: {kind: cut, message: gone}
  - expect: {tool: finish, last: "^o", contains: hello, tools: [finish], turn: 2}
    text: All is well.
`

func parse(t *testing.T, s string) *Model {
	t.Helper()
	m, err := Parse("turns.yaml", []byte(s))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestPlay(t *testing.T) {
	m := parse(t, twoTurns)
	req := &llm.Request{
		Messages: []llm.Message{{Role: llm.User, Text: "hello"}},
		Tools:    []llm.ToolSpec{{Name: "finish"}},
	}
	r, err := m.Generate(context.Background(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := r.Message.Calls
	if len(c) != 3 || r.Stop != llm.StopCalls || r.Usage != (llm.Usage{In: 10, Out: 3}) {
		t.Fatalf("%+v", r)
	}
	if got, want := string(c[0].Args), `"n": 9007199254740993`; !strings.Contains(got, want) {
		t.Errorf("args are %s, want them to hold %s", got, want)
	}
	if got := strings.ReplaceAll(string(c[1].Args), " ", ""); got != `{"path":"b.txt","deep":[1,{"x":true,"\u001b[1m":"\u001b\u0000\u0007<"}]}` {
		t.Errorf("args of the second call are %s", got)
	}
	if string(c[2].Args) != "{}" || c[0].ID != "call_1" || c[2].ID != "call_3" {
		t.Errorf("%+v", c)
	}

	req.Messages = append(req.Messages, r.Message, llm.Message{Role: llm.Tool, Name: "finish", Text: "ok"})
	var e *llm.Error
	switch _, err := m.Generate(context.Background(), req, nil); {
	case !errors.As(err, &e):
		t.Errorf("errors.As(err, &e) is false: first attempt: %v", err)
	case e.Kind != llm.RateLimit:
		t.Errorf("e.Kind is %v, want %v: first attempt: %v", e.Kind, llm.RateLimit, err)
	case e.RetryAfter != 2*time.Second:
		t.Errorf("e.RetryAfter is %v, want %v: first attempt: %v", e.RetryAfter, 2*time.Second, err)
	case e.Status != 429:
		t.Errorf("e.Status is %v, want 429: first attempt: %v", e.Status, err)
	}
	if _, err := m.Generate(context.Background(), req, nil); !errors.As(err, &e) || e.Kind != llm.Cut {
		t.Errorf("second attempt: %v", err)
	}
	var words []string
	r, err = m.Generate(context.Background(), req, func(d llm.Delta) { words = append(words, d.Text) })
	if err != nil || r.Message.Text != "All is well." || r.Stop != llm.StopEnd {
		t.Fatalf("third attempt: %+v, %v", r, err)
	}
	if strings.Join(words, "|") != "All |is |well." {
		t.Errorf("streamed %q", words)
	}
	// Asked again, as after a kill, it says the same.
	if again, err := m.Generate(context.Background(), req, nil); err != nil || again.Message.Text != r.Message.Text {
		t.Errorf("asked again: %v, %v", again, err)
	}
	req.Messages = append(req.Messages, r.Message)
	if _, err := m.Generate(context.Background(), req, nil); !errors.As(err, &e) || e.Kind != exhausted || e.Retryable() {
		t.Errorf("past the end: %v", err)
	}
}

func TestMismatchSaysBoth(t *testing.T) {
	for _, c := range []struct{ expect, want string }{
		{`last: "^21"`, `the last message to match "^21", but it is: "hello"`},
		{"last: |\n        ^21\n      contains: hello", `match "^21"`},
		{`tool: search`, `a result of search, but it is a user message`},
		{`contains: xyz`, `contain "xyz"`},
		{`tools: [search]`, `the tool search to be offered, but these are: finish`},
		{`turn: 3`, `turn 1 expects to be turn 3`},
	} {
		m := parse(t, "turns:\n  - expect:\n      "+c.expect+"\n    text: hi\n")
		_, err := m.Generate(context.Background(), &llm.Request{
			Messages: []llm.Message{{Role: llm.User, Text: "hello"}},
			Tools:    []llm.ToolSpec{{Name: "finish"}},
		}, nil)
		var e *llm.Error
		if !errors.As(err, &e) || e.Kind != mismatch || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.expect, err, c.want)
		}
	}
}

func TestParseErrorsNameTheLine(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"unknown field", "turns:\n  - text: a\n    txt: b\n", "[3:"},
		{"regexp", "turns:\n  - expect:\n      last: '('\n", "line 3: error parsing regexp"},
		{"duration", "turns:\n  - delay: soon\n", "line 2: \"soon\" is no duration"},
		{"no turns", "loop: true\n", "no turns"},
		{"kind", "turns:\n  - error: {kind: oops}\n", `turn 1: error kind is "oops"`},
		{"answer and error", "turns:\n  - error: {kind: cut}\n    text: x\n", "says nothing else"},
		{"json unknown", "{\"turns\":[\n{\"text\":\"a\"},\n{\"txt\":\"b\"}]}", "line 3: unknown field"},
		{"json syntax", "{\"turns\":[\n{\"text\":\"a\",}]}", "line 2"},
		{"json type", "{\"turns\":[\n\n{\"text\":1}]}", "line 3"},
		{"json regexp", "{\"turns\":[\n{\"expect\":{\"last\":\"(\"}}]}", "line 2: error parsing regexp"},
		{"trailing", "{\"turns\":[{\"text\":\"a\"}]} x", "line 1"},
	} {
		if _, err := Parse("s", []byte(c.in)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
}

func TestJSONWithTabsAndExactNumbers(t *testing.T) {
	m := parse(t, "{\n\t\"turns\": [\n\t\t{\"calls\": [{\"name\": \"f\", \"args\": {\"n\": 12345678901234567890}}]}\n\t]\n}")
	r, err := m.Generate(context.Background(), &llm.Request{}, nil)
	if err != nil || string(r.Message.Calls[0].Args) != `{"n": 12345678901234567890}` {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestLoop(t *testing.T) {
	m := parse(t, "loop: true\nturns:\n  - calls: [{name: a}]\n  - calls: [{name: b}]\n")
	var req llm.Request
	for i := range 5 {
		r, err := m.Generate(context.Background(), &req, nil)
		if err != nil || r.Message.Calls[0].Name != []string{"a", "b"}[i%2] {
			t.Fatalf("turn %d: %+v, %v", i, r, err)
		}
		req.Messages = append(req.Messages, r.Message)
	}
}

func TestDelayHonoursContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := parse(t, "turns:\n  - text: late\n    delay: 1h\n")
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if _, err := m.Generate(ctx, &llm.Request{}, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("with a minute to wait: %v", err)
		}
		begin := time.Now()
		r, err := m.Generate(context.Background(), &llm.Request{}, nil)
		if err != nil || r.Message.Text != "late" || time.Since(begin) != time.Hour {
			t.Errorf("%v, %v after %s", r, err, time.Since(begin))
		}
	})
}

func TestErrorsAtTheEnd(t *testing.T) {
	m := parse(t, "turns:\n  - error: {kind: auth, message: no}\n")
	var e *llm.Error
	if _, err := m.Generate(context.Background(), &llm.Request{}, nil); !errors.As(err, &e) || e.Kind != llm.Auth {
		t.Errorf("%v", err)
	}
	if _, err := m.Generate(context.Background(), &llm.Request{}, nil); !errors.As(err, &e) || e.Kind != exhausted {
		t.Errorf("%v", err)
	}
}

func ExampleParse() {
	m, err := Parse("greeting", []byte("turns:\n  - text: Hello.\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	answer, err := m.Generate(context.Background(), &llm.Request{}, nil)
	fmt.Println(answer.Message.Text, err)
	_, err = m.Generate(context.Background(), &llm.Request{Messages: []llm.Message{answer.Message}}, nil)
	fmt.Println(err)
	// Output:
	// Hello. <nil>
	// script: greeting has no turn 2
}

// Conversations that have a scene of their own are played from it, each from its
// beginning; the others have the script's own turns.
func TestScenes(t *testing.T) {
	m, err := Parse("s", []byte(`
turns: [{text: mine}]
scenes:
  - {when: You plan, turns: [{text: first}, {error: {kind: overloaded, message: busy}}, {text: second}]}
  - {when: "task: b", loop: true, turns: [{text: again}]}
`))
	if err != nil {
		t.Fatal(err)
	}
	ask := func(texts ...string) string {
		req := &llm.Request{}
		for i, text := range texts {
			role := []llm.Role{llm.System, llm.User, llm.Assistant, llm.User, llm.Assistant, llm.User}[i]
			req.Messages = append(req.Messages, llm.Message{Role: role, Text: text})
		}
		r, err := m.Generate(t.Context(), req, nil)
		if err != nil {
			return err.Error()
		}
		return r.Message.Text
	}
	for _, c := range []struct {
		want string
		said []string
	}{
		{"first", []string{"You plan work.", "do a"}},
		{"mine", []string{"You work.", "do a"}},
		{"again", []string{"You work.", "task: b"}},
		{"again", []string{"You work.", "task: b", "again", "more"}},
		{"script: busy", []string{"You plan work.", "do a", "first", "more"}},
		{"second", []string{"You plan work.", "do a", "first", "more"}},
		{`script: s, scene "You plan" has no turn 3`, []string{"You plan work.", "do a", "first", "more", "second", "more"}},
		{"script: s has no turn 2", []string{"You work.", "do a", "mine", "You plan"}},
	} {
		if got := ask(c.said...); !strings.HasPrefix(got, c.want) {
			t.Errorf("%q: %q instead of %q", c.said, got, c.want)
		}
	}
	for text, want := range map[string]string{
		"scenes: [{turns: [{text: a}]}]": "scene 1: when: is missing", "scenes: [{when: a}]": "scene 1: it has no turns",
		"scenes: [{when: a, turns: [{calls: [{}]}]}]": "scene 1: turn 1: call 1 has no name",
	} {
		if _, err := Parse("s", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
