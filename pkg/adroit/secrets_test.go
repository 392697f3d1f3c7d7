package adroit_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
	"github.com/adroit-run/adroit/internal/dev/partstest"
	"github.com/adroit-run/adroit/internal/work/process"
	"github.com/adroit-run/adroit/internal/work/sandbox"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/guard/secret"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/jobs/sqlite"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/parts"
	"github.com/adroit-run/adroit/pkg/tools"
)

// What a program reads of the workspace's environment files and prints is kept
// nowhere, as on the command line.
func TestEnvironmentFiles(t *testing.T) {
	const value = "hunter2-of-the-workspace"
	dir, data := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, ".env.local"), []byte("export DB_PASSWORD='"+value+"'\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	turns := "turns:\n  - calls: [{name: shell, args: {command: \"cat .env.local | tr -d x\"}}]\n  - text: Done.\n    expect: {last: 'DB_PASSWORD=.*secret: DB_PASSWORD'}"
	rt := open(t, adroit.Options{Tools: []tools.Tool{partstest.Tool("shell")}, Models: scripted(t, turns), Defaults: agents.Defaults{Approve: executor.ApproveAll},
		Workspace: adroit.Workspace{Dir: dir, Sandbox: process.SandboxOptions{Level: sandbox.Off}}, Storage: adroit.Storage{Data: data, Store: sqlite.Store(data)}})
	agent := agents.DynamicAgent{Name: "worker", Description: "Work.", Prompt: "You work.", Tools: []string{"shell"}}
	job, err := rt.Agent(agent).Execute(t.Context(), agents.Input{Prompt: "go"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := job.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := rt.Close(); err != nil {
		t.Fatal(err)
	}
	keptNowhere(t, data, value)
}

// keptNowhere fails for each file below data with one of the values in it.
func keptNowhere(t *testing.T, data string, values ...string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(data, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		b, err := os.ReadFile(path)
		for _, v := range values {
			if strings.Contains(string(b), v) {
				t.Errorf("%s holds %s", path, v)
			}
		}
		return err
	})
	if err != nil || files == 0 {
		t.Errorf("%d files were kept, %v", files, err)
	}
}

// A key that a person types reaches neither the data directory nor a model: in a prompt,
// an input, a title and a message it is replaced, with a warning; in an answer and in what
// code reads it is refused.
func TestTypedSecrets(t *testing.T) {
	typed := map[string]string{
		"variable": "Kx7QuartzLantern99zzTopaz", "dotenv": "Zebra9Crossing77Violet",
		"openai": "sk-proj-abcdEFGH1234ijklMNOP5678qrstUVWX9012yz", "github": "ghp_abcdefghijklmnopqrstuvwxyzABCDEF0123",
		"aws": "AKIAJ7QWERTYUIOPASDF", "slack": "xoxb-123456789012-1234567890123-AbCdEfGhIjKlMnOpQrStUvWx",
	}
	dir, data := t.TempDir(), t.TempDir()
	dirtest.Write(t, filepath.Join(dir, ".env"), "DB_PASSWORD="+typed["dotenv"]+"\n")
	var seen []string
	var warned int
	model := llm.Func(func(_ context.Context, req *llm.Request, _ func(llm.Delta)) (*llm.Response, error) {
		raw, err := json.Marshal(req)
		seen = append(seen, string(raw))
		answered := strings.Contains(string(raw), `"role":"tool"`)
		if len(req.Tools) > 0 && !answered {
			return &llm.Response{Message: llm.Message{Role: llm.Assistant, Calls: []llm.Call{{ID: "1", Name: "shell", Args: json.RawMessage(`{"command":"touch x"}`)}}}, Stop: llm.StopCalls}, err
		}
		return &llm.Response{Message: llm.Message{Role: llm.Assistant, Text: "Done."}, Stop: llm.StopEnd}, err
	})
	led := agents.Define("led", func(sc *executor.Scope) error { return sc.Bind("n", 1) })
	rt := open(t, adroit.Options{Tools: parts.Tools(), Models: map[string]llm.Model{"m": model}, Definitions: adroit.Definitions{Workflows: []flow.Workflow{led}},
		Callbacks: adroit.Callbacks{Warn: func(string) { warned++ }},
		Workspace: adroit.Workspace{Dir: dir, Secrets: secret.New(map[string]string{"MY_KEY": typed["variable"]}), Sandbox: process.SandboxOptions{Level: sandbox.Off}}, Storage: adroit.Storage{Data: data, Store: sqlite.Store(data)}})
	agent := agents.DynamicAgent{Name: "worker", Description: "Work.", Prompt: "You work.", Model: "m/x", Inputs: []agents.Field{{Name: "note", Optional: true}}}
	asks := agent
	asks.Name, asks.Tools = "asker", []string{"shell"}
	code := agent
	code.Name, code.Workflow = "coded", "led"
	var all []string
	for name, key := range typed {
		all = append(all, key)
		note, _ := json.Marshal("it is " + key)
		before := warned
		in := agents.Input{Spec: &agent, Prompt: "use " + key + "\nand " + key, Inputs: map[string]json.RawMessage{"note": note}}
		if _, err := adroit.Run(t.Context(), rt, adroit.Request{Input: in, Title: "with " + key}); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if _, err := rt.Send(t.Context(), "last", executor.Message{Text: "again " + key}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !strings.Contains(seen[len(seen)-1], "use [secret: ") || warned < before+3 {
			t.Errorf("%s: the model has got %s; %d warnings", name, seen[len(seen)-1], warned-before)
		}
		for _, in := range []agents.Input{{Spec: &code, Inputs: map[string]json.RawMessage{"note": note}}, {Spec: &agent, Prompt: "go", Test: "make TOKEN=" + key}} {
			if _, err := rt.Submit(t.Context(), adroit.Request{Input: in}); err == nil || !strings.Contains(err.Error(), "has a secret in it") || strings.Contains(err.Error(), key) {
				t.Errorf("%s: %s with %s%s: %v", name, in.Spec.Name, in.Inputs["note"], in.Test, err)
			}
		}
		_, err := adroit.Run(t.Context(), rt, adroit.Request{Input: agents.Input{Spec: &asks, Prompt: "ask"}})
		if stopped := new(adroit.StatusError); !errors.As(err, &stopped) || stopped.Job.Status != jobs.Waiting {
			t.Fatalf("%s: %v", name, err)
		}
		if _, err := rt.Signal(t.Context(), "last", adroit.Signal{Name: "deny", Value: note}); err == nil || !strings.Contains(err.Error(), "has a secret in it") {
			t.Errorf("%s: an answer: %v", name, err)
		}
	}
	if err := rt.Close(); err != nil {
		t.Fatal(err)
	}
	for _, key := range all {
		if strings.Contains(strings.Join(seen, ""), key) {
			t.Errorf("a model has got %s", key)
		}
	}
	keptNowhere(t, data, all...)
}
