package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/e2e/ollamatest"
	"github.com/adroit-run/adroit/internal/dev/e2e/tinymodel"
)

// A real Ollama takes the schemas of the generators, and what its grammar cannot
// say is sent back by us.
func TestCommitOnOllama(t *testing.T) {
	t.Parallel()
	url := ollamatest.Start(t)
	for name, turns := range map[string][]tinymodel.Turn{
		"message": {{Say: `{"subject":"Fixed the rounding.","body":""}`}, {Say: `{"subject":"Round totals per cart","body":"Cents were lost."}`}},
		"pull":    {{Say: `{"title":"Round totals","body":"Totals are rounded once per cart."}`}},
		"error":   {{Say: `{"cause":"The name x is not declared.","where":"cart.go:7","fix":"Declare it."}`}},
		"title":   {{Say: `{"title":"Totals off by a cent"}`}},
	} {
		ollamatest.CreateModel(t, url, name, turns)
	}
	p := newPlace(t, map[string]string{"repo/a.txt": "a\n", "home/.gitconfig": "[user]\n\tname = A\n\temail = a@example.com\n"})
	p.bin = program(t)
	p.env = append(p.env, "OLLAMA_HOST="+url) // the last one counts
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = p.path("repo"), append(os.Environ(), "HOME="+p.path("home"))
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "-q")
	git("add", ".")
	if code, out := p.run("git", "commit", "--yes", "-m", "ollama/message"); code != 0 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	if got := git("log", "--format=%B", "-1"); got != "Round totals per cart\n\nCents were lost." {
		t.Errorf("committed %q", got)
	}
	for _, args := range [][]string{
		{"run", "pr_description", "-m", "ollama/pull", "-i", "diff=+b"},
		{"run", "error_explanation", "-m", "ollama/error", "-i", "output=cart.go:7: undefined: x"},
		{"run", "title", "-m", "ollama/title", "-i", "text=The total is off by a cent."},
	} {
		if code, out := p.run(args...); code != 0 || !strings.Contains(out, "output valid") {
			t.Errorf("%s: exit code %d\n%s", args[1], code, out)
		}
	}
}
