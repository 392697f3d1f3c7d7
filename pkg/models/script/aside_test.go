package script_test

import (
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/models/script"
)

func TestAsides(t *testing.T) {
	m, err := script.Parse("s", []byte(`
turns: [{text: turn}]
asides:
  - {expect: {contains: outline}, text: an outline}
  - {expect: {last: "."}, text: anything}
`))
	if err != nil {
		t.Fatal(err)
	}
	ask := func(text string, tools ...llm.ToolSpec) string {
		r, err := m.Generate(t.Context(), &llm.Request{Messages: []llm.Message{{Role: llm.User, Text: text}}, Tools: tools}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return r.Message.Text
	}
	for text, want := range map[string]string{"an outline, please": "an outline", "hello": "anything"} {
		if got := ask(text); got != want {
			t.Errorf("%s: %s", text, got)
		}
	}
	if got := ask("an outline, please", llm.ToolSpec{Name: "x"}); got != "turn" {
		t.Errorf("a turn was answered with %q", got)
	}
	for src, want := range map[string]string{
		"turns: [{text: a}]\n" + `asides: [{text: b}]`:                                            "has no expect",
		"turns: [{text: a}]\n" + `asides: [{expect: {last: x}, calls: [{name: y}]}]`:              "only answer with text",
		"turns: [{text: a}]\n" + `asides: [{expect: {last: x}, text: b, stop: nowhere}]`:          "stop is",
		"turns: [{text: a}]\n" + `asides: [{expect: {last: x}, error: {kind: auth, message: m}}]`: "only answer with text",
	} {
		if _, err := script.Parse("s", []byte(src)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", src, err)
		}
	}
}
