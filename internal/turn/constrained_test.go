package turn

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/calling/schema"
	"github.com/adroit-run/adroit/pkg/llm"
)

// The forms that a model may write, with their meaning. Cut or broken text is never completed.
func TestDecide(t *testing.T) {
	for text, want := range map[string]string{
		`{"next":[{"tool":"a","arguments":{"x":1}}]}`:                                                `a{"x":1}`,
		`{"next":{"tool":"a","arguments":{"x":1}}}`:                                                  `a{"x":1}`,
		`{"next":[{"tool":"a"},{"tool":"b","arguments":{}},{"answer":"Both."}]}`:                     `a{} b{} Both.`,
		`{"next":[{"answer":"Done."}]}`:                                                              `Done.`,
		`{"next":{"answer":{"n":1}}}`:                                                                `{"n":1}`,
		"```json\n{\"next\":[{\"answer\":\"Done.\"}]}\n```":                                          `Done.`,
		"{\"next\":{\"tool\":\"a\",\"arguments\":{}}}\n{\"next\":{\"tool\":\"b\",\"arguments\":{}}}": `a{} b{}`,
		`{"next":[{"tool":"a","arguments":{"x":1}},{"tool":"b","arg`:                                 "no",
		`{"next":[]}`:                  "no",
		`{"next":[{}]}`:                "no",
		`{"answer":"Done."}`:           "no",
		`{"next":[{"answer":"x"}]} so`: "no",
		``:                             "no",
	} {
		d, ok := decide(text, false)
		got := "no"
		if ok {
			var parts []string
			for _, c := range d.calls {
				parts = append(parts, c.Name+string(c.Args))
			}
			if d.text != "" {
				parts = append(parts, d.text)
			}
			got = strings.Join(parts, " ")
		}
		if got != want {
			t.Errorf("%s means %q, want %q", text, got, want)
		}
	}
}

// An answer with several calls is run in order, and the history has the model's text unchanged.
func TestWritten(t *testing.T) {
	const wrote = "{\"next\": [ {\"tool\": \"a\", \"arguments\": {\"x\": \"<b>\"}},\n {\"answer\": \"Both <done>.\"}]}"
	offered := []llm.ToolSpec{{Name: "a", Description: "A.", Input: json.RawMessage(`{"type":"object","properties":{"x":{"type":"string"}}}`)}}
	model := llm.Func(func(context.Context, *llm.Request, func(llm.Delta)) (*llm.Response, error) {
		return &llm.Response{Message: llm.Message{Role: llm.Assistant, Text: wrote}, Stop: llm.StopEnd}, nil
	})
	form, err := AnswerSchema(offered, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	resp, slipped, err := GenerateConstrained(t.Context(), model, &llm.Request{Model: "m"}, form, offered, false, func(llm.Delta) {})
	if err != nil || slipped != "" || len(resp.Message.Calls) != 1 || resp.Stop != llm.StopCalls || resp.Message.Text != "Both <done>." {
		t.Fatalf("%+v, %q, %v", resp, slipped, err)
	}
	if got := AsText(resp.Message, Constrained).Text; got != wrote {
		t.Errorf("the history has %s", got)
	}
	other := llm.Message{Role: llm.Assistant, Text: "I <see>.", Calls: []llm.Call{{Name: "a", Args: json.RawMessage(`{"x":"1"}`)}}}
	if got := AsText(other, Constrained).Text; got != `{"next":[{"tool":"a","arguments":{"x":"1"}},{"answer":"I <see>."}]}` {
		t.Errorf("what was said in another mode is %s", got)
	}
}

// Every dialect has the form, and it describes each tool once.
func TestAnswerSchema(t *testing.T) {
	var offered []llm.ToolSpec
	for i := range 5 {
		offered = append(offered, llm.ToolSpec{Name: fmt.Sprint("tool", i), Input: json.RawMessage(`{"type":"object","properties":{"unusual":{"type":"string","description":"Only here."}}}`)})
	}
	form, err := AnswerSchema(offered, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []*schema.Dialect{schema.Common, schema.Ollama, schema.Grammar, schema.Strict} {
		out, err := d.Down(form)
		if err != nil || strings.Count(string(out), "Only here.") != len(offered) || !strings.Contains(string(out), `"answer"`) {
			t.Errorf("%s: %v\n%s", d.Name, err, out)
		}
	}
}
