package main

import (
	"io"
	"os/exec"
	"strings"
	"testing"
)

// TestMCPAtTerminal: at a terminal a tool that does not say that it only reads is asked
// about, with what always would allow, and what its server asks the user is asked
// field by field, until the answer fits.
func TestMCPAtTerminal(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("notes-mcp")
	if err != nil {
		t.Fatal(err)
	}
	p := newPlace(t, map[string]string{
		"home/.config/adroit/agents/clerk.md": "---\nname: clerk\ndescription: Signs.\nmcp_servers: [notes]\ntools: []\n---\nYou sign.\n",
		"turns.yaml": `turns:
  - calls: [{name: mcp__notes__sign, args: {}}]
  - expect: {contains: 'accept {"color":"red","name":"7","times":2}'}
    calls: [{name: mcp__notes__sign, args: {}}]
  - expect: {contains: "decline null"}
    text: Signed once.
`,
	})
	p.env = append(p.env, "ADROIT_SANDBOX=off")
	if code, out := p.run("mcp", "add", "notes", "--", program); code != 0 {
		t.Fatalf("%d\n%s", code, out)
	}
	x, wait := p.terminal(100, []string{"TERM=xterm", "NO_COLOR=1"}, "run", "clerk", "sign it", "-m", "script:../turns.yaml")
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("screen:\n%s", x.text())
		}
	})
	types := func(what string, n int, answer string) {
		t.Helper()
		await(t, what, func() bool { return strings.Count(x.text(), what) >= n })
		if _, err := io.WriteString(x.ours, answer); err != nil {
			t.Fatal(err)
		}
	}
	fields := func(n int, color, name, times, send string) {
		t.Helper()
		types("     color: ", n, color+"\n")
		types("     name: ", n, name+"\n")
		types("     times: ", n, times+"\n")
		types("send it? [y]es, [n]o: ", n, send+"\n")
	}
	types("run it? [y]es, [a]lways, [n]o", 1, "a\n")
	fields(1, "blue", "7", "many", "y")
	types("the answer before did not fit", 1, "")
	fields(2, "red", "7", "2", "y")
	fields(3, "", "", "", "n")
	code := wait()
	text := x.text()
	if code != 0 || !strings.Contains(text, `always means, in this job only: allow mcp__notes__sign`) || !strings.Contains(text, "Signed once.") {
		t.Errorf("exit code %d\n%s", code, text)
	}
	contains(t, text, "does not say that it only reads", "Who signs?", `one of red, green`)
	if n := strings.Count(text, "run it? "); n != 1 {
		t.Errorf("after always it asks again: %d times\n%s", n, text)
	}
}
