package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/e2e/ollamatest"
	"github.com/adroit-run/adroit/internal/dev/e2e/tinymodel"
	"github.com/adroit-run/adroit/internal/dev/testenv"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/llm/llmtest"
)

// repair is the builder's job, a call for each turn. The arguments are as a
// server writes them that holds a model to a strict schema.
var repair = []llm.Call{
	{Name: "read_file", Args: json.RawMessage(`{"path":"cart.go","from":null,"lines":null}`)},
	{Name: "edit_file", Args: json.RawMessage(`{"path":"cart.go","old":"a - b","new":"a + b","all":null,"edits":null}`)},
	{Name: "run_tests", Args: nil},
	{Name: "finish", Args: json.RawMessage(`{"summary":"Total adds."}`)},
}

// loose are the same arguments where nothing has to be null.
func loose(c llm.Call) llm.Call {
	var o map[string]json.RawMessage
	if json.Unmarshal(c.Args, &o) != nil {
		return llm.Call{Name: c.Name, Args: json.RawMessage("{}")}
	}
	var parts []string
	for _, key := range []string{"path", "old", "new", "summary"} { // as the schemas have them
		if v, ok := o[key]; ok {
			parts = append(parts, fmt.Sprintf("%q:%s", key, v))
		}
	}
	return llm.Call{Name: c.Name, Args: json.RawMessage("{" + strings.Join(parts, ",") + "}")}
}

// play answers as a model does that is asked in one of the three ways.
func play(a llmtest.Asked) llmtest.Turn {
	n := 0
	for _, m := range a.Messages {
		if m.Role == "assistant" && *m.Content != "(noted)" {
			n++
		}
	}
	if n >= len(repair) {
		return llmtest.Turn{Text: "I am done."}
	}
	c := repair[n]
	if !strings.Contains(string(a.Schema), `"null"`) || c.Args == nil {
		c = loose(c)
	}
	switch {
	case len(a.Tools) > 0:
		c.ID = fmt.Sprintf("call_%08d", n)
		return llmtest.Turn{Calls: []llm.Call{c}, Thinking: "Let me see."}
	case strings.Contains(string(a.Schema), `"next"`):
		return llmtest.Turn{Text: chosen(c)}
	}
	return llmtest.Turn{Text: written(c)}
}

func chosen(c llm.Call) string {
	return fmt.Sprintf(`{"next":[{"tool":%q,"arguments":%s}]}`, c.Name, c.Args)
}
func written(c llm.Call) string {
	return fmt.Sprintf(`<tool_call>{"name": %q, "arguments": %s}</tool_call>`, c.Name, c.Args)
}

// A site is a place to run the program in, with a data directory that lasts.
type site struct {
	bin  string
	home string
	env  []string
	ran  string // where the last run was
}

func newSite(t *testing.T, env ...string) *site {
	s := &site{bin: program(t), home: t.TempDir()}
	s.env = append(env, "HOME="+s.home, "PATH="+os.Getenv("PATH"), "GOCACHE="+goCache(t), "GOGC="+seldom, "GOTOOLCHAIN=local", "LAB_KEY="+llmtest.Key)
	return s
}

func (s *site) adroit(t *testing.T, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(t.Context(), s.bin, args...)
	cmd.Env, cmd.Dir = s.env, dir
	if args[0] == "run" {
		s.ran = dir
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (s *site) configure(t *testing.T, text string) {
	t.Helper()
	put(t, filepath.Join(s.home, ".config", "adroit", "config.yaml"), text)
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// build runs the builder on a project of its own and returns what it made:
// the diff, and the artifact of that name.
func (s *site) build(t *testing.T, args ...string) string {
	t.Helper()
	ws := filepath.Join(t.TempDir(), "cart")
	put(t, filepath.Join(ws, "go.mod"), "module cart\n\ngo 1.26\n")
	put(t, filepath.Join(ws, "cart.go"), "package cart\n\nfunc Total(a, b int) int { return a - b }\n")
	put(t, filepath.Join(ws, "cart_test.go"), "package cart\n\nimport \"testing\"\n\nfunc TestTotal(t *testing.T) {\n\tif Total(1, 2) != 3 {\n\t\tt.Error(\"1 and 2 are not 3\")\n\t}\n}\n")
	if out, err := s.adroit(t, ws, append([]string{"run", "builder", "make Total add"}, args...)...); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	diff, err := s.adroit(t, ws, "jobs", "diff", "last")
	if err != nil || !strings.Contains(diff, "+func Total(a, b int) int { return a + b }") {
		t.Fatalf("%v\n%s", err, diff)
	}
	artifact, err := s.adroit(t, ws, "jobs", "artifacts", "last", "diff")
	if err != nil {
		t.Fatalf("%v\n%s", err, artifact)
	}
	return diff + artifact
}

// shellTests makes the builder run tests with a line of shell. The project is the same
// forty times and the calls are under test, so the line stands for go test.
var shellTests = []string{"--test", "grep -q 'a + b' cart.go && echo '1 test, 0 failures'"}

// ways of the last job's answers, as its events tell.
func (s *site) ways(t *testing.T) string {
	t.Helper()
	out, err := s.adroit(t, s.ran, "jobs", "logs", "last", "--json")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var list []string
	for line := range strings.Lines(out) {
		var e struct {
			Kind, Name string
			Data       struct {
				Calling string
				Stop    string
			}
		}
		if json.Unmarshal([]byte(line), &e) == nil && e.Data.Stop != "" {
			way := e.Data.Calling
			if way == "" {
				way = "native"
			}
			if len(list) == 0 || list[len(list)-1] != way {
				list = append(list, way)
			}
		}
	}
	return strings.Join(list, ",")
}

// TestBuilderInEachWay has the builder do its job at servers that behave as
// products are documented to, in each way to call tools. What it makes is the
// same everywhere.
func TestBuilderInEachWay(t *testing.T) {
	t.Parallel()
	s := newSite(t, "OLLAMA_HOST=127.0.0.1:9")
	first := ""
	same := func(t *testing.T, made string) {
		t.Helper()
		if first == "" {
			first = made
		}
		if made != first {
			t.Errorf("it made\n%s\nand elsewhere\n%s", made, first)
		}
	}
	for _, name := range []string{"openai", "mistral", "deepseek", "gemini", "ollama", "azure", "openrouter", "groq", "llamacpp", "vllm", "lmstudio", "compatible"} {
		if testing.Short() && name != "openai" || !testenv.Chosen(t, 3, name) {
			continue // the request of each product is compared in pkg/models
		}
		t.Run(name, func(t *testing.T) {
			p := llmtest.NewProduct(t, name, play)
			base := p.URL + "/v1"
			if name == "azure" {
				base = p.URL
			}
			s.configure(t, fmt.Sprintf("endpoints:\n  lab:\n    base_url: %s\n    dialect: %s\n    key_env: LAB_KEY\nedit_formats: {\"lab/*\": edit}\n", base, name))
			for _, way := range []string{"native", "constrained", "text"} {
				if name == "deepseek" && way == "constrained" {
					continue // it holds no answer to a schema
				}
				same(t, s.build(t, append(shellTests, "-m", "lab/gpt-5-mini", "--calling", way)...))
				if got := s.ways(t); got != way {
					t.Errorf("it was asked %s, want %s", got, way)
				}
			}
			if no := p.Refused(); len(no) > 0 {
				t.Errorf("refused: %q", no)
			}
		})
	}
	t.Run("anthropic", func(t *testing.T) {
		server := llmtest.New(t)
		for _, c := range repair {
			server.Add(llmtest.Say(llmtest.Turn{Thinking: "Let me see.", Calls: []llm.Call{loose(c)}, Usage: &llm.Usage{In: 9, Out: 9}}))
		}
		server.Add(llmtest.Say(llmtest.Turn{Text: "Done.", Usage: &llm.Usage{In: 9, Out: 9}}))
		s.configure(t, fmt.Sprintf("endpoints:\n  lab:\n    base_url: %s\n    dialect: anthropic\n    key_env: LAB_KEY\nedit_formats: {\"lab/*\": edit}\n", server.URL))
		same(t, s.build(t, append(shellTests, "-m", "lab/claude")...))
		requests := server.Requests()
		if last := string(requests[len(requests)-1].Body); !strings.Contains(last, `"signature":"c2ln"`) || !strings.Contains(last, `"cache_control"`) {
			t.Errorf("the last request lacks signed thinking or the cache's mark: %s", last)
		}
	})
	t.Run("falls back for an unknown reason", func(t *testing.T) {
		for name, refused := range map[string][2]int{"without words": {4, 4}, "without a status": {4, 8}} { // the second is not remembered by later jobs
			p := llmtest.NewProduct(t, name, play)
			s.configure(t, fmt.Sprintf("endpoints:\n  lab:\n    base_url: %s/v1\n", p.URL))
			for _, want := range refused {
				same(t, s.build(t, append(shellTests, "-m", "lab/qwen")...))
				if got := s.ways(t); got != "constrained" || len(p.Refused()) != want {
					t.Errorf("%s: it was asked %s, refused %q", name, got, p.Refused())
				}
			}
		}
	})
	t.Run("falls back and remembers", func(t *testing.T) {
		p := llmtest.NewProduct(t, "vllm without a parser", play)
		s.configure(t, fmt.Sprintf("endpoints:\n  lab:\n    base_url: %s/v1\n    dialect: vllm\n", p.URL))
		same(t, s.build(t, append(shellTests, "-m", "lab/qwen")...))
		if got := s.ways(t); got != "constrained" || len(p.Refused()) != 1 {
			t.Errorf("it was asked %s, refused %q", got, p.Refused())
		}
		same(t, s.build(t, append(shellTests, "-m", "lab/qwen")...))
		if len(p.Refused()) != 1 {
			t.Errorf("it was forgotten what the server cannot do: %q", p.Refused())
		}
		out, err := s.adroit(t, "", "models", "check", "lab/qwen")
		if err != nil || !strings.Contains(out, "constrained, then text (native did not work on 20") || !strings.Contains(out, "dialect vllm, as configured") {
			t.Errorf("%v\n%s", err, out)
		}
		if out, err := s.adroit(t, "", "models", "forget", "lab/qwen"); err != nil || out != "forgot 1 entry\n" {
			t.Errorf("%v\n%s", err, out)
		}
		same(t, s.build(t, append(shellTests, "-m", "lab/qwen")...))
		if len(p.Refused()) != 2 {
			t.Errorf("it was not forgotten: %q", p.Refused())
		}
	})
}

// TestBuilderInEachWayOfRealOllama does the same with a real server.
func TestBuilderInEachWayOfRealOllama(t *testing.T) {
	t.Parallel()
	url := ollamatest.Start(t)
	s := newSite(t, "OLLAMA_HOST="+url)
	turns := func(say func(llm.Call) string, end string) (list []tinymodel.Turn) {
		for _, c := range repair {
			list = append(list, tinymodel.Turn{Say: say(loose(c))})
		}
		return append(list, tinymodel.Turn{Say: end})
	}
	create := func(name string, play func([]tinymodel.Turn) (string, error), context int, turns []tinymodel.Turn) {
		template, err := play(turns)
		if err != nil {
			t.Fatal(err)
		}
		ollamatest.Create(t, url, name, tinymodel.Words.Tape(context), template)
	}
	create("native", tinymodel.Words.Template, ollamatest.Context, turns(written, "Done."))
	create("constrained", tinymodel.Words.Template, ollamatest.Context, turns(chosen, `{"next":[{"answer":"Done."}]}`))
	create("text", tinymodel.Words.Template, ollamatest.Context, turns(written, "Done."))
	// Of other weights: the server loads the same ones once, with one template.
	create("plain", tinymodel.Words.Plain, 3*ollamatest.Context/2, turns(chosen, `{"next":[{"answer":"Done."}]}`))
	first := ""
	for _, c := range []struct{ model, way string }{{"native", "native"}, {"constrained", "constrained"}, {"text", "text"}, {"plain", "auto"}} {
		t.Run(c.model, func(t *testing.T) {
			made := s.build(t, append(shellTests, "-m", "ollama/"+c.model, "--calling", c.way)...)
			if first == "" {
				first = made
			}
			if made != first {
				t.Errorf("it made\n%s\nand elsewhere\n%s", made, first)
			}
			want := c.way
			if want == "auto" {
				want = "constrained" // the template has no tools
			}
			if got := s.ways(t); got != want {
				t.Errorf("it was asked %s, want %s", got, want)
			}
		})
	}
}
