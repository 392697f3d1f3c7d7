package main

import (
	"os"
	"strings"
	"testing"
)

// At a terminal whole files are shown by the pager of the user, never by a program that the
// project has.
func TestTrustAtTerminal(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, pager, answer string }{
		{"the user's", "tools/pager", "y\n"},
		{"none", "no-such-pager", "n\n"},
		{"the project's", "repo/bin/pager", "y\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, map[string]string{"repo/.git/HEAD": "ref: refs/heads/main\n", "repo/AGENTS.md": strings.Repeat("line\n", 300) + "LAST WORD\n",
				"tools/pager": "#!/bin/sh\necho PAGED; tail -n 2\n", "repo/bin/pager": "#!/bin/sh\necho PAGED; touch PWN\n"})
			pager := c.pager
			if strings.Contains(pager, "/") {
				pager = p.path(pager)
				if err := os.Chmod(pager, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			x, wait := p.terminal(120, []string{"TERM=xterm", "NO_COLOR=1", "PAGER=" + pager}, "config", "trust")
			x.expect("trust 1 file of", c.answer)
			code := wait()
			text := x.text()
			if want := map[string]int{"y\n": 0, "n\n": 1}[c.answer]; code != want || !strings.Contains(text, "LAST WORD") {
				t.Errorf("exit code %d\n%s", code, text)
			}
			if paged := strings.Contains(text, "PAGED"); paged != (c.name == "the user's") || p.read("repo/PWN") != "" {
				t.Errorf("paged: %v\n%s", paged, text)
			}
			if paged := strings.Count(text, "| line") < 10; paged != (c.name == "the user's") {
				t.Errorf("the text is\n%s", text)
			}
		})
	}
}
