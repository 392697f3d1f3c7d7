package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/llm/llmtest"
)

// post is the blog agent's job, a call for each turn.
var post = []llm.Call{
	{Name: "analyze_prompt", Args: json.RawMessage(`{"prompt":"Explain why jobs survive"}`)},
	{Name: "generate_outline", Args: json.RawMessage(`{"topic":"Jobs"}`)},
	{Name: "expand_section", Args: json.RawMessage(`{"section":"Why they die"}`)},
	{Name: "expand_section", Args: json.RawMessage(`{"section":"Why they live on"}`)},
	{Name: "assemble_content", Args: json.RawMessage(`{}`)},
	{Name: "review_content", Args: json.RawMessage(`{}`)},
}

// advice holds the answers to the blog tools' model requests, by a part of
// their prompts.
var advice = []struct{ asked, said string }{
	{"Say what this request", `{"topic":"Jobs","audience":"operators","tone":"dry","words":300,"sections":[],"questions":[]}`},
	{"Outline a blog post", `{"title":"Jobs that live","sections":[{"title":"Why they die","points":[]},{"title":"Why they live on","points":[]}]}`},
	{`Write the section "Why they die"`, strings.Repeat("They are killed, by a laptop or by a person, and nothing that was only in memory is there afterwards. ", 4)},
	{`Write the section "Why they live on"`, strings.Repeat("Each effect is written down before it happens and its outcome after it, so that the next process knows. ", 4)},
	{"Below are the sections", `{"intro":"Jobs die.","transitions":[""],"outro":"Try it: kill one."}`},
	{"Review this blog post", `{"verdict":"ready","faults":[]}`},
}

// TestBlogInEachWay has the blog agent write a post in each way to call tools.
// What it makes is the same.
func TestBlogInEachWay(t *testing.T) {
	t.Parallel()
	s := newSite(t, "OLLAMA_HOST=127.0.0.1:9")
	p := llmtest.NewProduct(t, "compatible", func(a llmtest.Asked) llmtest.Turn {
		if text := a.Text(); !strings.Contains(text, "You write a post for a blog") {
			for _, m := range advice {
				if strings.Contains(text, m.asked) {
					return llmtest.Turn{Text: m.said}
				}
			}
			t.Errorf("a tool asks: %.300s", text)
			return llmtest.Turn{Text: "?"}
		}
		n := 0
		for _, m := range a.Messages {
			if m.Role == "assistant" {
				n++
			}
		}
		constrained := strings.Contains(string(a.Schema), `"next"`)
		switch {
		case n >= len(post) && constrained:
			return llmtest.Turn{Text: `{"next":{"answer":"A post.\nCONTENT_COMPLETE"}}`}
		case n >= len(post):
			return llmtest.Turn{Text: "A post.\nCONTENT_COMPLETE"}
		case len(a.Tools) > 0:
			c := post[n]
			c.ID = fmt.Sprintf("call_%d", n)
			return llmtest.Turn{Calls: []llm.Call{c}}
		case constrained:
			return llmtest.Turn{Text: chosen(post[n])}
		}
		return llmtest.Turn{Text: written(post[n])}
	})
	s.configure(t, fmt.Sprintf("endpoints:\n  lab:\n    base_url: %s/v1\n", p.URL))
	first := ""
	for _, way := range []string{"native", "constrained", "text"} {
		t.Run(way, func(t *testing.T) {
			ws := filepath.Join(t.TempDir(), "site")
			put(t, filepath.Join(ws, "hugo.toml"), "title = \"x\"\n")
			if out, err := s.adroit(t, ws, "run", "blog", "Explain why jobs survive", "-m", "lab/m", "--calling", way); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			made := ""
			for _, name := range []string{"content", "outline"} {
				out, err := s.adroit(t, ws, "jobs", "artifacts", "last", name)
				if err != nil {
					t.Fatalf("%s: %v\n%s", name, err, out)
				}
				made += out
			}
			if first == "" {
				first = made
			}
			if made != first || !strings.Contains(made, "## Why they live on") {
				t.Errorf("it made\n%s\nand elsewhere\n%s", made, first)
			}
			if got := s.ways(t); got != way {
				t.Errorf("it was asked %s, want %s", got, way)
			}
		})
	}
	if no := p.Refused(); len(no) > 0 {
		t.Errorf("refused: %q", no)
	}
}
