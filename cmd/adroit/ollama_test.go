package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/e2e/ollamatest"
	"github.com/adroit-run/adroit/internal/dev/e2e/tinymodel"
)

// TestRunAgainstRealOllama runs the program against a real Ollama server: a
// job of two tools, streamed, in a window that was set and verified.
func TestRunAgainstRealOllama(t *testing.T) {
	t.Parallel()
	url := ollamatest.Start(t)
	ollamatest.CreateModel(t, url, "worker", []tinymodel.Turn{
		{Say: `I will look.<tool_call>{"name": "list_files", "arguments": {}}</tool_call>`},
		{Say: `<tool_call>{"name": "write_file", "arguments": {"path": "b.txt", "content": "beta"}}</tool_call>`},
		{Say: "Both files are there."},
	})
	bin := program(t)
	home, ws := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(ws, "a.txt"), []byte("alpha\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	agents := filepath.Join(home, ".config", "adroit", "agents")
	if err := os.MkdirAll(agents, 0o700); err != nil {
		t.Fatal(err)
	}
	agent := "---\nname: lister\ndescription: List and write files.\ntools: [list_files, write_file]\ndone: {all: [{tool: list_files}, {tool: write_file}]}\n---\nYou list and write files.\n"
	if err := os.WriteFile(filepath.Join(agents, "lister.md"), []byte(agent), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), bin, "run", "lister", "Write b.txt.", "-m", "ollama/worker", "-C", ws)
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "OLLAMA_HOST=" + url}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s%s", err, &stdout, &stderr)
	}
	if b, err := os.ReadFile(filepath.Join(ws, "b.txt")); err != nil || string(b) != "beta" {
		t.Errorf("b.txt: %q, %v", b, err)
	}
	if !strings.Contains(stderr.String(), ", verified)") || !strings.Contains(stdout.String(), "Both files are there.") {
		t.Errorf("stdout %q, stderr %q", &stdout, &stderr)
	}
	last := events(t, bin, ws, cmd.Env)
	if last.Kind != "job.finished" || last.Data.Status != "done" {
		t.Errorf("the last event is %s with status %q", last.Kind, last.Data.Status)
	}
	if last.Data.Usage.In == 0 || last.Data.Usage.Out == 0 {
		t.Errorf("tokens: %d in, %d out", last.Data.Usage.In, last.Data.Usage.Out)
	}
}

type lastEvent struct {
	Kind string
	Data struct {
		Status string
		Usage  struct{ In, Out int }
	}
}

// events reads the last job's events as a script would and gives the last.
func events(t *testing.T, bin, dir string, env []string) (last lastEvent) {
	cmd := exec.CommandContext(t.Context(), bin, "jobs", "logs", "last", "--json")
	cmd.Env, cmd.Dir = env, dir
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(out) {
		last = lastEvent{}
		if err := json.Unmarshal(line, &last); err != nil {
			t.Fatalf("not JSON: %s", line)
		}
	}
	return last
}
