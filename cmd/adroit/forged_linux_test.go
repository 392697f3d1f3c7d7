package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Names that a stranger chose forge no line, and steer no terminal: names of files, of tools
// and agents, titles. Each is tried where commands and tools print names; a line of theirs
// would begin with FORGED.
func TestNoForgedLines(t *testing.T) {
	t.Parallel()
	names := map[string]string{}
	for i, sep := range []string{"\n", "\r", "\r\n", "\v", "\f", "\u0085", "\u2028", "\u2029", "\x1b[2K\x1b[1G", "\x9b1G", "\u202e", "\u2067", "\b\b\b\b\b\b\b\b"} {
		names[fmt.Sprintf("q%d%sFORGED", i, sep)] = sep
	}
	agent := "---\nname: hand\ndescription: \"Works.\\nFORGED\"\ntools: [list_files, search, search_text, read_file, write_file, move_file, shell, git_status, git_diff, finish]\ndone: {signal: DONE}\n---\nYou work.\n"
	files := map[string]string{"home/.config/adroit/agents/hand.md": agent, "repo/.adroit/skills/s/SKILL.md": "---\nname: s\ndescription: S.\n---\nS.\n"}
	var turns []string
	turn := func(name string, args any) {
		b, err := json.Marshal(map[string]any{"name": name, "args": args})
		if err != nil {
			t.Fatal(err)
		}
		turns = append(turns, `{"calls":[`+string(b)+`]}`)
	}
	const content = "needle\nfunc needle() {}\n"
	for n := range names {
		files["repo/dir/"+n] = content
		files["repo/.adroit/agents/"+n+".md"] = "---\ntools: [\"x\\nFORGED\"]\n---\n{{.No}}"
		files["repo/.adroit/pipelines/"+n+".yaml"] = "name: \"p\\nFORGED\"\nsteps:\n  - {id: a, tool: \"x\\nFORGED\", onFailure: \"z\\nFORGED\"}\n"
	}
	for _, c := range []struct {
		name string
		args any
	}{
		{"list_files", map[string]any{"path": "dir"}}, {"search", map[string]any{"pattern": "needle"}}, {"search_text", map[string]any{"query": "needle"}}, {"git_status", map[string]any{}},
		{"shell", map[string]any{"command": "for f in dir/q*; do cp \"$f\" \"$f.x\"; done; rm dir/*.x; for f in dir/q*; do echo more >>\"$f\"; done; echo end"}},
		{"git_status", map[string]any{}}, {"git_diff", map[string]any{}}, {"list_files", map[string]any{"path": "."}},
	} {
		turn(c.name, c.args)
	}
	i := 0
	for n := range names {
		i++
		turn("read_file", map[string]any{"path": "dir/" + n})
		turn("write_file", map[string]any{"path": fmt.Sprintf("new%d/%s", i, n), "content": "x\n"})
		turn("move_file", map[string]any{"from": fmt.Sprintf("new%d/%s", i, n), "to": fmt.Sprintf("moved%d/%s", i, n)})
		turn("read_file", map[string]any{"path": "none/" + n})
	}
	turn("finish", map[string]any{"summary": "ok"})
	files["turns.yaml"] = `{"turns":[` + strings.Join(turns, ",\n") + `]}`
	files["questions.yaml"] = `{"turns":[{"calls":[{"name":"shell","args":{"command":"touch x\r\nFORGED"}}]}]}`
	files["repo/.mcp.json"] = `{"mcpServers":{"a\nFORGED\u001b[2J":{"command":"x\nFORGED\u202e","args":["y\nFORGED"],"env":{"B\nFORGED":"z"}},"c":{"command":5,"env\nFORGED":1}}}`
	files["message.yaml"] = `{"turns":[{"text":"Added."}],"loop":true}`
	p := newPlace(t, files)
	git(t, p.path("repo"), "init", "-q", "-b", "main")
	git(t, p.path("repo"), "add", "-A")
	git(t, p.path("repo"), "commit", "-qm", "start")
	check := func(what, out string) {
		t.Helper()
		for _, line := range strings.FieldsFunc(out, func(r rune) bool { return strings.ContainsRune("\n\r\v\f\u0085\u2028\u2029", r) }) {
			if strings.HasPrefix(line, "FORGED") {
				t.Errorf("%s: a line is forged:\n%q", what, clip(out, "FORGED"))
				return
			}
		}
		if at := strings.IndexAny(out, "\x1b\u202e\u2067\b\u009b"); at >= 0 || strings.Contains(out, "\x9b") && !strings.Contains(out, "\u009b") {
			t.Errorf("%s: a terminal is steered: %q", what, out[max(0, at-80):min(len(out), max(at, 0)+80)])
		}
	}
	run := func(args ...string) string {
		t.Helper()
		_, out := p.run(args...)
		check("adroit "+strings.Join(args[:min(3, len(args))], " "), out)
		return out
	}
	out := run("run", "hand", "go\nFORGED \x1b[2J\u202e\rFORGED", "-m", "script:"+p.path("turns.yaml"), "--mode", "auto", "--approve", "all", "--max-turns", "99")
	if !strings.Contains(out, "done in") {
		t.Fatalf("the job did not end:\n%s", out)
	}
	// What a model reads: each result of a tool, as it was kept.
	var results int
	_, events := p.run("jobs", "logs", "last", "--json")
	for line := range strings.Lines(events) {
		var ev struct {
			Kind, Step, Name string
			Data             struct{ Text string }
		}
		if json.Unmarshal([]byte(line), &ev) == nil && ev.Kind == "step.finished" && ev.Step == "tool" {
			results++
			if ev.Name != "git_diff" && (ev.Name != "read_file" || strings.HasPrefix(ev.Data.Text, `"`)) { // those show what files have
				check("the result of "+ev.Name, ev.Data.Text)
			}
		}
	}
	if results < 40 {
		t.Errorf("%d results of tools were seen", results)
	}
	// Every command that only reads, those of a name with one.
	named := map[string][]string{"agents show": {"hand"}, "completion": {"bash"}, "config get": {"model"}, "memory show": {"m"}, "skills show": {"s"}, "tools show": {"read_file"}, "pipelines graph": {"p"}, "pipelines show": {"p"}}
	for command := range strings.SplitSeq(nameChanges["reads"], ", ") {
		if command == "jobs transcript" { // has the texts of the conversation, line by line
			continue
		}
		args := append(strings.Fields(command), named[command]...)
		if args[0] == "jobs" && command != "jobs list" {
			args = append(args, "last")
		}
		run(args...)
	}
	for _, command := range []string{"git commit", "git pr", "run reviewer"} {
		git(t, p.path("repo"), "add", "-A")
		run(append(strings.Fields(command), "-m", "script:"+p.path("message.yaml"))...)
	}
	for _, args := range [][]string{
		{"mcp", "check"}, {"--trust-project", "mcp", "list"}, {"mcp", "list", "--trust-project"}, {"run", "hand", "x", "-m", "script:" + p.path("message.yaml"), "--trust-project"},
		{"jobs"}, {"jobs", "show", "last"}, {"jobs", "logs", "last"}, {"jobs", "diff", "last", "--stat"}, {"jobs", "steps", "last"}, {"jobs", "graph", "last"}, {"agents"}, {"agents", "lint"}, {"pipelines", "lint"}, {"agents", "show", "hand"}, {"agents", "skills"},
		{"config", "trust", "--show"}, {"fix", "stats"}, {"doctor"}, {"jobs", "undo", "last", "--dry-run"}, {"jobs", "diff", "last"}, {"jobs", "undo", "last"},
		{"run", "hand", "ask\nFORGED", "-m", "script:" + p.path("questions.yaml")}, {"jobs", "show", "last"}, {"jobs", "--status", "waiting"}, {"answer", "approve", "none"}, {"answer", "deny"},
	} {
		run(args...)
	}
}

func clip(s, around string) string {
	i := max(0, strings.Index(s, around))
	return s[max(0, i-200):min(len(s), i+200)]
}

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %s: %v\n%s", filepath.Join(args...), err, out)
	}
}
