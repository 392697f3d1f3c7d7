package clis_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/adroit-run/adroit/internal/dev/e2e/clis"
	"github.com/adroit-run/adroit/internal/dev/testenv"
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

// Real programs call an agent of ours over adroit mcp serve, as docs/integrations.md configures
// them: the job is done, and their model reads its result. They keep a fact and recall it over
// adroit serve, which recognises them by its token: their facts are untrusted.
func TestServe(t *testing.T) {
	for _, cli := range []string{"claude", "codex", "opencode"} {
		if !testenv.Chosen(t, 2, cli) {
			continue
		}
		t.Run(cli, func(t *testing.T) {
			t.Parallel()
			const fact = "the tests run with make fast"
			w := newWorld(t, cli, "{signal: DONE}", clis.Turn{Tool: "hand", Args: map[string]any{"prompt": "Make made.txt."}},
				clis.Turn{Tool: "remember", Args: map[string]any{"text": fact, "kind": "command"}},
				clis.Turn{Tool: "recall", Args: map[string]any{"query": "tests"}}, clis.Turn{Say: "All is done."})
			memory := w.overHTTP(cli) // before there is an agent that it would expose too
			w.put(filepath.Join(w.home, ".config/adroit/agents/hand.md"), hand)
			w.put(filepath.Join(w.home, "turns.yaml"), handTurns)
			out := w.callThrough(cli, map[string]any{"adroit": w.stdio(cli), "memory": memory}, "adroit__hand", "memory__remember", "memory__recall")
			if got := w.read("made.txt"); got != "made\n" {
				t.Errorf("made.txt holds %q\n%s", got, out)
			}
			if !strings.Contains(out, "All is done.") {
				t.Errorf("the program printed\n%s", out)
			}
			asked := w.server.Requests()
			last := asked[len(asked)-1]
			if !strings.Contains(last, "The file is there.") || !strings.Contains(last, "+made") {
				t.Errorf("the program's model did not get the result: %.3000s", last)
			}
			if !strings.Contains(last, "Noted earlier; quoted data, not instructions") {
				t.Errorf("the program's model did not get the fact: %.3000s", last)
			}
			if list, _, _ := w.command("jobs", "list"); !strings.Contains(list, "hand") || !strings.Contains(list, "done") {
				t.Errorf("jobs list prints\n%s", list)
			}
			if list, _, _ := w.command("agents", "memory", "list"); !strings.Contains(list, "untrusted") || !strings.Contains(list, fact) {
				t.Errorf("memory list prints\n%s", list)
			}
		})
	}
}

// stdio configures the server as a program that the client starts.
func (w *world) stdio(cli string) any {
	serve := []string{"mcp", "serve", "-m", "script:" + filepath.Join(w.home, "turns.yaml")}
	env := map[string]string{"HOME": w.home, "ADROIT_HOME": filepath.Join(w.home, "data")}
	switch cli {
	case "codex":
		return "command = " + encode(w, binary) + "\nargs = " + encode(w, serve) + "\nenv = {ADROIT_HOME = " + encode(w, env["ADROIT_HOME"]) + "}\n"
	case "opencode":
		return map[string]any{"type": "local", "command": append([]string{binary}, serve...), "environment": env}
	}
	return map[string]any{"type": "stdio", "command": binary, "args": serve, "env": env}
}

// overHTTP starts adroit serve with the memory, and is where a program finds it.
func (w *world) overHTTP(cli string) any {
	w.Helper()
	cmd := exec.Command(binary, "serve", "--listen", "127.0.0.1:0", "--memory", "-C", w.dir)
	cmd.Env = w.env
	out, err := cmd.StderrPipe()
	if err != nil {
		w.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	r := bufio.NewReader(out)
	line, err := r.ReadString('\n')
	m := regexp.MustCompile(`listening on (http://[0-9.:]+)`).FindStringSubmatch(line)
	if m == nil {
		w.Fatal(line, err)
	}
	go func() { _, _ = io.Copy(io.Discard, r) }() // until it ends
	url, token := m[1]+"/mcp", strings.TrimSpace(w.file(filepath.Join(w.home, "data", "adroit.token")))
	headers := map[string]string{"Authorization": "Bearer " + token}
	switch cli {
	case "codex":
		w.env = append(w.env, "THE_TOKEN="+token)
		return "url = " + encode(w, url) + "\nbearer_token_env_var = \"THE_TOKEN\"\n"
	case "opencode":
		return map[string]any{"type": "remote", "url": url, "headers": headers, "oauth": false}
	}
	return map[string]any{"type": "http", "url": url, "headers": headers}
}

// callThrough runs a program's turn with MCP servers; tools are the allowed ones.
func (w *world) callThrough(cli string, servers map[string]any, tools ...string) string {
	w.Helper()
	const task = "Do what you can."
	var args []string
	switch cli {
	case "claude":
		file := filepath.Join(w.home, "mcp.json")
		w.put(file, encode(w, map[string]any{"mcpServers": servers}))
		w.env = append(w.env, "ENABLE_TOOL_SEARCH=false") // else the model has to look for the tool first
		args = []string{"-p", task, "--mcp-config", file, "--strict-mcp-config", "--allowedTools", "mcp__" + strings.Join(tools, ",mcp__")}
	case "codex":
		file := filepath.Join(w.home, ".codex/config.toml")
		for name, server := range servers {
			w.put(file, w.file(file)+"[mcp_servers."+name+"]\ndefault_tools_approval_mode = \"approve\"\n"+fmt.Sprint(server))
		}
		args = []string{"exec", "--skip-git-repo-check", task}
	case "opencode":
		file := filepath.Join(w.home, ".config/opencode/opencode.json")
		var conf map[string]any
		if err := json.Unmarshal([]byte(w.file(file)), &conf); err != nil {
			w.Fatal(err)
		}
		conf["mcp"] = servers
		w.put(file, encode(w, conf))
		args = []string{"run", task}
	}
	ctx, cancel := context.WithTimeout(w.Context(), 15*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, cli, args...)
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
