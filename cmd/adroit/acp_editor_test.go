package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/testenv"
	sdk "github.com/coder/acp-go-sdk"
)

const acpEditorTurns = `turns:
  - expect: {contains: "Review a.txt, please."}
    calls: [{name: edit_file, args: {path: a.txt, old: one, new: two}}, {name: write_file, args: {path: b.txt, content: "all new\n"}}, {name: write_file, args: {path: c.txt, content: "c\n"}}]
  - text: Reviewed.
  - expect: {contains: "<attached path=\"b.txt\" from=\"the editor, as it is there\">\nwhat I type"}
    text: I see what you type.
  - expect: {contains: "/no such command"}
    text: No command.
`

// TestACPEditor uses what an editor has beside the conversation: commands, diffs in
// questions about edits, and texts that are not saved.
func TestACPEditor(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{"turns.yaml": acpEditorTurns, "repo/a.txt": "one\n", "repo/b.txt": "old\n", "home/.config/adroit/commands/review.md": "---\ndescription: Look at a file.\n---\nReview $1, please.\n",
		"home/.config/adroit/agents/hand.md": "---\nname: hand\ndescription: Works.\ntools: [edit_file, write_file]\n---\nYou work.\n"})
	e := edit(t, p, "hand", "--approve", "ask")
	s := e.session(p.path("repo"))
	commands := func() bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		return strings.Contains(strings.Join(e.lines, "\n"), "commands: /review Look at a file. (")
	}
	await(t, "the commands", commands)
	e.prompt(s.SessionId, sdk.StopReasonEndTurn, sdk.TextBlock("/review a.txt"))
	var diffs []string
	for _, q := range e.asked {
		for _, c := range q.ToolCall.Content {
			if c.Diff != nil {
				before := "nothing"
				if c.Diff.OldText != nil {
					before = *c.Diff.OldText
				}
				diffs = append(diffs, fmt.Sprintf("%s %q to %q", filepath.Base(c.Diff.Path), before, c.Diff.NewText))
			}
		}
	}
	if want := `a.txt "one\n" to "two\n"; b.txt "old\n" to "all new\n"; c.txt "nothing" to "c\n"`; strings.Join(diffs, "; ") != want {
		t.Errorf("the questions show %s", strings.Join(diffs, "; "))
	}
	e.buffers = map[string]string{p.path("repo/b.txt"): "what I type\n", p.path("repo/a.txt"): "two\n"}
	link := func(name string) sdk.ContentBlock { return sdk.ResourceLinkBlock(name, "file://"+p.path("repo/"+name)) }
	contains(t, e.prompt(s.SessionId, sdk.StopReasonEndTurn, sdk.TextBlock("and this?"), link("b.txt"), link("a.txt")), "agent: I see what you type.")
	contains(t, e.prompt(s.SessionId, sdk.StopReasonEndTurn, sdk.TextBlock("/no such command")), "agent: No command.")
	code, out := p.run("jobs", "transcript", "last")
	if code != 0 || strings.Contains(out, "a.txt\" from=") || !strings.Contains(out, "what I type") {
		t.Errorf("%d\n%s", code, out)
	}

	e = edit(t, p, "hand")
	if _, err := e.LoadSession(t.Context(), sdk.LoadSessionRequest{SessionId: s.SessionId, Cwd: p.path("repo"), McpServers: []sdk.McpServer{}}); err != nil {
		t.Fatal(err)
	}
	await(t, "the commands of the loaded session", commands)
}

// An answer of an editor that comes after another one, a second answer to the same question, and one that was
// not offered allow nothing. The client library of the protocol's authors gives them.
func TestACPAnswers(t *testing.T) {
	peer := testenv.NeedsVariable(t, "ACP_CLIENT", "install.sh acp")
	t.Parallel()
	p := newPlace(t, map[string]string{"turns.yaml": `turns:
  - calls: [{name: shell, args: {command: "touch late"}}]
  - calls: [{name: shell, args: {command: "touch second"}}]
  - calls: [{name: shell, args: {command: "touch wrong"}}]
  - text: Over.
`, "repo/a.txt": "one\n", "home/.config/adroit/agents/hand.md": "---\nname: hand\ndescription: Works.\ntools: [shell]\n---\nYou work.\n"})
	script, err := filepath.Abs("testdata/acp/answers.mjs")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("node", script, peer, p.bin, "serve", "acp", "hand", "-m", "script:"+p.path("turns.yaml"), "--approve", "ask")
	cmd.Dir, cmd.Env, cmd.Stderr = p.path("repo"), p.env, os.Stderr
	in, out := piped(t, cmd)
	lines := bufio.NewReader(out)
	if line, err := lines.ReadString('\n'); err != nil || line != "asked\n" {
		t.Fatalf("%q %v", line, err)
	}
	contains(t, p.ok(4, "answer", "deny", "last", "not now"), "touch second")
	if _, err := io.WriteString(in, "go\n"); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(lines)
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v", err)
	}
	contains(t, string(rest), "stop refused", "all-of-it", "which was not offered", "questions 3")
	for _, name := range []string{"late", "second", "wrong"} {
		if _, err := os.Stat(p.path("repo/" + name)); err == nil {
			t.Errorf("the %s answer was taken", name)
		}
	}
	contains(t, p.ok(0, "jobs", "audit", "last"), "deny")
	if log := p.ok(0, "jobs", "show", "last"); !strings.Contains(log, "waiting") {
		t.Errorf("after an answer that was not offered:\n%s", log)
	}
}
