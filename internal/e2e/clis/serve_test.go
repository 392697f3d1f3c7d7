package clis_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/adroit-run/adroit/internal/e2e/clis"
)

const hand = `---
name: hand
description: Makes a file.
tools: [write_file, finish]
done: {all: [{signal: DONE}, {artifact: diff}]}
expose: true
---
You make files.
`

const handTurns = `turns:
  - calls: [{name: write_file, args: {path: made.txt, content: "made\n"}}]
  - calls: [{name: finish, args: {summary: The file is there.}}]
`

// Real programs call an agent of ours over adroit mcp serve, as docs/mcp-server.md
// configures them: the job is done, and their model reads what it came to.
func TestServe(t *testing.T) {
	for _, cli := range []string{"claude", "codex", "opencode"} {
		t.Run(cli, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, cli, "{signal: DONE}", clis.Turn{Tool: "hand", Args: map[string]any{"prompt": "Make made.txt."}}, clis.Turn{Say: "All is done."})
			w.put(filepath.Join(w.home, ".config/adroit/agents/hand.md"), hand)
			w.put(filepath.Join(w.home, "turns.yaml"), handTurns)
			out := w.callThrough(cli)
			if got := w.read("made.txt"); got != "made\n" {
				t.Errorf("made.txt holds %q\n%s", got, out)
			}
			if !strings.Contains(out, "All is done.") {
				t.Errorf("the program printed\n%s", out)
			}
			asked := w.server.Requests()
			if last := asked[len(asked)-1]; !strings.Contains(last, "The file is there.") || !strings.Contains(last, "+made") {
				t.Errorf("the program's model did not get the result: %.3000s", last)
			}
			if list, _, _ := w.command("jobs", "list"); !strings.Contains(list, "hand") || !strings.Contains(list, "done") {
				t.Errorf("jobs list prints\n%s", list)
			}
		})
	}
}

// callThrough has a program do its turn with adroit as an MCP server.
func (w *world) callThrough(cli string) string {
	w.Helper()
	serve := []string{"mcp", "serve", "-m", "script:" + filepath.Join(w.home, "turns.yaml")}
	env := map[string]string{"HOME": w.home, "ADROIT_HOME": filepath.Join(w.home, "data")}
	var args []string
	switch cli {
	case "claude":
		file := filepath.Join(w.home, "mcp.json")
		w.put(file, encode(w, map[string]any{"mcpServers": map[string]any{"adroit": map[string]any{"type": "stdio", "command": binary, "args": serve, "env": env}}}))
		w.env = append(w.env, "ENABLE_TOOL_SEARCH=false") // else the model has to look for the tool first
		args = []string{"-p", "Have made.txt made.", "--mcp-config", file, "--strict-mcp-config", "--allowedTools", "mcp__adroit__hand"}
	case "codex":
		file := filepath.Join(w.home, ".codex/config.toml")
		w.put(file, w.file(file)+"[mcp_servers.adroit]\ncommand = "+encode(w, binary)+"\nargs = "+encode(w, serve)+"\ndefault_tools_approval_mode = \"approve\"\n[mcp_servers.adroit.env]\nADROIT_HOME = "+encode(w, env["ADROIT_HOME"])+"\n")
		args = []string{"exec", "--skip-git-repo-check", "Have made.txt made."}
	case "opencode":
		file := filepath.Join(w.home, ".config/opencode/opencode.json")
		var conf map[string]any
		if err := json.Unmarshal([]byte(w.file(file)), &conf); err != nil {
			w.Fatal(err)
		}
		conf["mcp"] = map[string]any{"adroit": map[string]any{"type": "local", "command": append([]string{binary}, serve...), "environment": env}}
		w.put(file, encode(w, conf))
		args = []string{"run", "Have made.txt made."}
	}
	ctx, cancel := context.WithTimeout(w.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(programs, cli), args...)
	cmd.Env, cmd.Dir = append(w.env, "PWD="+w.dir), w.dir
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		w.Errorf("%s: %v", cli, err)
	}
	return out.String()
}

func encode(w *world, v any) string {
	w.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		w.Fatal(err)
	}
	return string(b)
}

func (w *world) file(name string) string {
	w.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		w.Fatal(err)
	}
	return string(b)
}
