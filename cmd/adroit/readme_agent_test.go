package main

import (
	"os"
	"strings"
	"testing"
)

// The agent in the README can be copied as it is.
func TestReadmeAgent(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(readme), "```markdown\n")
	agent, _, ended := strings.Cut(rest, "```\n")
	if !ok || !ended || !strings.HasPrefix(agent, "---\n") {
		t.Fatal("the README shows no agent")
	}
	p := newPlace(t, map[string]string{"repo/agent.md": agent})
	if code, out := p.run("agents", "lint", "agent.md"); code != 0 || !strings.Contains(out, "0 problems") {
		t.Errorf("exit code %d\n%s", code, out)
	}
}
