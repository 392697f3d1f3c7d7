package habits

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/configs"
	"github.com/adroit-run/adroit/internal/dev/e2e/ollamatest"
	"github.com/adroit-run/adroit/internal/dev/e2e/tinymodel"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/models/ollama"
	"github.com/adroit-run/adroit/pkg/parts"
	"github.com/adroit-run/adroit/pkg/workflows"
)

// TestRealWindows has a model of the real server read files, one an answer, and repair a
// fault, in windows of 8,192 and 32,768 tokens: the server has loaded it with the window
// that was asked for, every request fits, and the work ends done. Compactions on the real
// server are TestRealOllama's.
func TestRealWindows(t *testing.T) {
	url := ollamatest.Start(t)
	for _, window := range []int{8192, 32768} {
		t.Run(fmt.Sprint(window), func(t *testing.T) {
			dir, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			j, read := files(130, 130, 130, 130)
			if window == 8192 {
				read = read[:4] // a compaction would lose the model of the test, which counts its answers
			}
			for name, body := range j.files {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(body), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			say := func(calls ...raw) tinymodel.Turn {
				var b strings.Builder
				for _, c := range calls {
					fmt.Fprintf(&b, "<tool_call>%s</tool_call>\n", object(c.name, c.args))
				}
				return tinymodel.Turn{Say: b.String()}
			}
			var turns []tinymodel.Turn
			for _, c := range read[1:] {
				turns = append(turns, say(c))
			}
			turns = append(turns, say(edits("calc.sh", wrong, right), done))
			template, err := tinymodel.Words.Template(turns)
			if err != nil {
				t.Fatal(err)
			}
			name := fmt.Sprintf("w%d", window)
			ollamatest.Create(t, url, name, tinymodel.Words.Tape(32768+window/8), template)
			m, err := ollama.New(ollama.Config{BaseURL: url})
			if err != nil {
				t.Fatal(err)
			}
			rt, err := adroit.Open(t.Context(), adroit.Options{
				Tools: parts.Tools(), Models: map[string]llm.Model{"real": m}, Model: "real/" + name,
				Defaults:    agents.Defaults{Approve: executor.ApproveAll},
				Definitions: adroit.Definitions{Agents: []agents.Layer{{Name: "built in", FS: configs.Agents()}}, Workflows: workflows.All()},
				Workspace: adroit.Workspace{Dir: dir, Servers: []adroit.LanguageServer{}, TestCommands: map[string]string{"*": "sh test.sh"},
					Sandbox: adroit.SandboxOptions{Level: "off"}},
			})
			if err != nil {
				t.Fatal(err)
			}
			defer rt.Close()
			job, err := adroit.Start(t.Context(), rt, adroit.Request{Input: agents.Input{Agent: "builder", Prompt: j.prompt, Options: llm.Options{Window: window, MaxTokens: 1024}, Limits: executor.Limits{Turns: 12}}})
			if err != nil {
				t.Fatal(err)
			}
			s, err := job.Wait(t.Context())
			if err != nil {
				t.Fatalf("%v: %+v", err, s.Context)
			}
			if got := loaded(t, url, name); got != window {
				t.Errorf("the server has it loaded with %d tokens, want %d", got, window)
			}
			if b, err := os.ReadFile(filepath.Join(dir, "calc.sh")); s.Outcome.Status != executor.Done || err != nil || string(b) != repaired {
				t.Errorf("%+v: %s", s.Outcome, b)
			}
			if s.Context.In == 0 || s.Context.In > window-1024 {
				t.Errorf("the last request had %d tokens", s.Context.In)
			}
			t.Logf("%d turns, %d compactions, %d tokens in the last request", s.Turns, s.Context.Compactions, s.Context.In)
		})
	}
}

// loaded returns the context window with which the server has loaded a model.
func loaded(t *testing.T, url, name string) int {
	res, err := http.Get(url + "/api/ps")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var list struct {
		Models []struct {
			Name    string `json:"name"`
			Context int    `json:"context_length"`
		} `json:"models"`
	}
	if err := json.NewDecoder(res.Body).Decode(&list); err != nil {
		t.Fatal(err)
	}
	for _, m := range list.Models {
		if strings.HasPrefix(m.Name, name) {
			return m.Context
		}
	}
	return 0
}
