package llm_test

import (
	"encoding/json"
	"testing"

	"github.com/adroit-run/adroit/pkg/llm"
)

// TestWireTools checks that tools are encoded once, and again as soon as
// anything about them or the format is another.
func TestWireTools(t *testing.T) {
	var w llm.EncodedHistory
	encoded := 0
	ask := func(dialect string, specs ...llm.ToolSpec) string {
		b, err := w.Tools(dialect, specs, func(specs []llm.ToolSpec) ([]byte, error) {
			encoded++
			return json.Marshal(specs)
		})
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	a := llm.ToolSpec{Name: "a", Description: "A.", Input: json.RawMessage(`{"type":"object"}`)}
	first := ask("x", a)
	if again := ask("x", a); again != first || encoded != 1 {
		t.Errorf("encoded %d times; %s, then %s", encoded, first, again)
	}
	wider, other := a, a
	wider.Input = json.RawMessage(`{"type":"object","properties":{}}`)
	other.Description = "Another."
	for i, specs := range [][]llm.ToolSpec{{wider}, {other}, {a, other}, {a}} {
		want, err := json.Marshal(specs)
		if err != nil {
			t.Fatal(err)
		}
		if got := ask("x", specs...); got != string(want) || encoded != i+2 {
			t.Errorf("after %d times it sends %s, want %s", encoded, got, want)
		}
	}
	if ask("y", a); encoded != 6 {
		t.Error("another format was given the old one's tools")
	}
}
