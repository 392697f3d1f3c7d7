package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/e2e/ollamatest"
	"github.com/adroit-run/adroit/internal/dev/e2e/tinymodel"
	"github.com/adroit-run/adroit/internal/dev/testenv"
	"github.com/adroit-run/adroit/pkg/llm"
)

// thinker is the template of a model that says what it is asked for.
func thinker(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(`{{ $asked := "" }}{{ range .Messages }}{{ if eq .Role "user" }}{{ $asked = .Content }}{{ end }}{{ end }}`)
	for i, th := range advice {
		say, err := tinymodel.Words.Plain([]tinymodel.Turn{{Say: th.said}})
		if err != nil {
			t.Fatal(err)
		}
		if i > 0 {
			b.WriteString("{{ else }}")
		}
		fmt.Fprintf(&b, "{{ if eq (printf `%%.%ds` $asked) `%s` }}%s", len(th.asked), th.asked, say)
	}
	b.WriteString(strings.Repeat("{{ end }}", len(advice)))
	return b.String()
}

// TestBlogInEachWayOfRealOllama does the same as TestBlogInEachWay with a real
// server, on which the tools ask a model of their own.
func TestBlogInEachWayOfRealOllama(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "prompts of ten thousand tokens take minutes")
	// Both models stay, so that neither is read anew for each turn of the other.
	url := ollamatest.Run(t, "OLLAMA_MAX_LOADED_MODELS=2").URL
	s := newSite(t, "OLLAMA_HOST="+url)
	const room = 32768
	create := func(name string, say func(llm.Call) string, end string) {
		var turns []tinymodel.Turn
		for _, c := range post {
			turns = append(turns, tinymodel.Turn{Say: say(c)})
		}
		template, err := tinymodel.Words.Template(append(turns, tinymodel.Turn{Say: end}))
		if err != nil {
			t.Fatal(err)
		}
		ollamatest.Create(t, url, name, tinymodel.Words.Tape(room), template)
	}
	const posted = "A post.\nCONTENT_COMPLETE"
	answer, err := json.Marshal(map[string]any{"next": []any{map[string]string{"answer": posted}}})
	if err != nil {
		t.Fatal(err)
	}
	create("native", written, posted)
	create("constrained", chosen, string(answer))
	create("text", written, posted)
	// Of other weights: the server loads the same ones once, and anew for each template.
	ollamatest.Create(t, url, "thinker", tinymodel.Words.Tape(room/2), thinker(t))
	s.configure(t, "models:\n  cheap: ollama/thinker\n")
	first := ""
	for _, way := range []string{"native", "constrained", "text"} {
		t.Run(way, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "site")
			put(t, filepath.Join(dir, "notes.md"), "Jobs survive.\n")
			out, err := s.adroit(t, dir, "run", "blog", "Explain why jobs survive", "-m", "ollama/"+way, "--calling", way)
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			made := ""
			for _, name := range []string{"analysis", "outline", "section/why-they-die", "section/why-they-live-on", "content"} {
				out, err := s.adroit(t, dir, "jobs", "artifacts", "last", name)
				if err != nil {
					t.Fatalf("%s: %v\n%s", name, err, out)
				}
				made += name + ":\n" + out
			}
			if first == "" {
				first = made
			}
			if made != first || !strings.Contains(made, "## Why they live on") || !strings.Contains(made, "Try it: kill one.") {
				t.Errorf("it made\n%s\nand elsewhere\n%s", made, first)
			}
			if got := s.ways(t); got != way {
				t.Errorf("it was asked %s, want %s", got, way)
			}
		})
	}
}
