package match

import (
	"testing"
)

func TestMatchRef(t *testing.T) {
	for _, c := range []struct {
		pattern, ref string
		want         bool
	}{
		{"ollama/*", "ollama/qwen3:8b", true},
		{"ollama/*", "openai/gpt", false},
		{"*", "", true},
		{"*/qwen*:8b", "ollama/qwen3:8b", true},
		{"*/qwen*:8b", "ollama/qwen3:8b-q4", false},
		{"a*a", "a", false}, // the ends must not overlap
		{"a*b*b", "ab", false},
		{"script:*", "script:/tmp/x.yaml", true},
		{"ollama/qwen3:8b", "ollama/qwen3:8b", true},
		{"ollama/qwen3:8b", "ollama/qwen3:8", false},
	} {
		if got := Ref(c.pattern, c.ref); got != c.want {
			t.Errorf("MatchRef(%q, %q) = %v", c.pattern, c.ref, got)
		}
	}
}

func TestPick(t *testing.T) {
	table := map[string]int{"*": 1, "ollama/*": 2, "ollama/qwen*": 3, "ollama/qwen3:8b": 4, "*/x": 5, "a*/x": 6}
	for ref, want := range map[string]int{"ollama/qwen3:8b": 4, "ollama/qwen2": 3, "ollama/phi": 2, "b": 1, "ab/x": 6, "b/x": 5} {
		if got, ok := Pick(table, ref); !ok || got != want {
			t.Errorf("%s: %d, %v, want %d", ref, got, ok, want)
		}
	}
	if _, ok := Pick(map[string]int{"a/*": 1}, "b/c"); ok {
		t.Error("picked what does not match")
	}
}
