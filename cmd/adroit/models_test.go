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

// TestModelsOfRealOllama pulls models from a registry on loopback into a real
// server, has them described, and runs a job with one that knows no tools and
// writes its calls as Mistral's models do.
func TestModelsOfRealOllama(t *testing.T) {
	t.Parallel()
	from, to := ollamatest.Run(t), ollamatest.Run(t)
	ollamatest.CreateModel(t, from.URL, "caller", []tinymodel.Turn{{Say: "ready"}})
	plain, err := tinymodel.Plain([]tinymodel.Turn{
		{Say: "I will look.\n" + `[TOOL_CALLS] [{"name": "write_file", "arguments": {"path": "b.txt", "content": "beta"}}]`},
		{Say: "It is written."},
	})
	if err != nil {
		t.Fatal(err)
	}
	ollamatest.Create(t, to.URL, "writer", tinymodel.Tape(ollamatest.Context), plain)
	reg := ollamatest.NewRegistry(t, from)

	bin := program(t)
	home, ws := t.TempDir(), t.TempDir()
	adroit := func(args ...string) (string, string, error) {
		cmd := exec.CommandContext(t.Context(), bin, args...)
		cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "OLLAMA_HOST=" + to.URL}
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		err := cmd.Run()
		return stdout.String(), stderr.String(), err
	}

	if _, stderr, err := adroit("models", "pull", reg.Name("nobody"), "--insecure"); err == nil || !strings.Contains(stderr, "check the name") {
		t.Errorf("pull of what is not there: %v, %s", err, stderr)
	}
	if _, stderr, err := adroit("models", "pull", reg.Name("caller")); err == nil || !strings.Contains(stderr, "--insecure") {
		t.Errorf("pull without TLS: %v, %s", err, stderr)
	}
	if stdout, stderr, err := adroit("models", "pull", reg.Name("caller"), "--insecure"); err != nil || !strings.Contains(stdout, "is there") || !strings.Contains(stderr, "100% of") {
		t.Fatalf("pull: %v\n%s%s", err, stdout, stderr)
	} else if _, try, ok := strings.Cut(strings.TrimSpace(stdout), "try it with: adroit "); !ok {
		t.Errorf("pull: no command stands in %s", stdout)
	} else if stdout, stderr, err := adroit(strings.Fields(try)...); err != nil {
		t.Errorf("%s: %v\n%s%s", try, err, stdout, stderr)
	}

	stdout, stderr, err := adroit("models", "list", "--json")
	var list []struct {
		Model, Tools, Family string
		Can                  []string
		Context, Window      int
		Size                 int64
	}
	if err != nil || json.Unmarshal([]byte(stdout), &list) != nil || len(list) < 2 {
		t.Fatalf("list: %v\n%s%s", err, stdout, stderr)
	}
	caller, writer := list[0], list[1]
	if !strings.Contains(caller.Model, "caller") {
		t.Errorf("the first model is %s", caller.Model)
	}
	if caller.Tools != "native" {
		t.Errorf("it takes tools as %q, want native", caller.Tools)
	}
	if caller.Context != ollamatest.Context || caller.Window != ollamatest.Context {
		t.Errorf("context %d and window %d, want %d", caller.Context, caller.Window, ollamatest.Context)
	}
	if caller.Family != "hermes" {
		t.Errorf("family %q, want hermes", caller.Family)
	}
	if caller.Size == 0 {
		t.Error("it has no size")
	}
	if writer.Model != "ollama/writer:latest" || writer.Tools != "constrained" {
		t.Errorf("%+v", writer)
	}
	if stdout, _, _ := adroit("models", "list"); !strings.Contains(stdout, "calls tools natively, thinking, window 16") || !strings.Contains(stdout, "by a schema") {
		t.Errorf("list:\n%s", stdout)
	}
	if stdout, stderr, err := adroit("models", "check", caller.Model); err != nil || !strings.Contains(stdout, "window: 16384 asked, 16384 given") || !strings.Contains(stdout, "natively") {
		t.Errorf("check: %v\n%s%s", err, stdout, stderr)
	}

	agents := filepath.Join(home, ".config", "adroit", "agents")
	if err := os.MkdirAll(agents, 0o700); err != nil {
		t.Fatal(err)
	}
	agent := "---\nname: writer\ndescription: Write files.\ntools: [write_file]\ndone: {tool: write_file}\n---\nYou write files.\n"
	if err := os.WriteFile(filepath.Join(agents, "writer.md"), []byte(agent), 0o600); err != nil {
		t.Fatal(err)
	}
	stdout, stderr, err = adroit("run", "writer", "Write b.txt.", "--calling", "text", "-m", "ollama/writer", "-C", ws)
	if b, rerr := os.ReadFile(filepath.Join(ws, "b.txt")); err != nil || rerr != nil || string(b) != "beta" {
		t.Errorf("run: %v, %q, %v\n%s%s", err, b, rerr, stdout, stderr)
	}
}
