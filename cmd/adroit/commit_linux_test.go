package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// At a terminal adroit commit asks, and an edited message is the user's.
func TestCommitAsks(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip("git is not installed here")
	}
	for _, c := range []struct {
		answer string
		code   int
		want   string // the last subject
	}{
		{"n\n", 5, "Start"},
		{"what\ny\n", 0, "Say b"},
		{"e\n", 0, "Say it better"},
		{"\x04", 5, "Start"}, // the end of input is no
	} {
		p := newPlace(t, map[string]string{
			"turns.yaml":      "turns:\n  - text: '{\"subject\": \"Say b\", \"body\": \"\"}'\n",
			"repo/a.txt":      "a\n",
			"editor":          "#!/bin/sh\necho 'Say it better' >\"$1\"\n",
			"home/.gitconfig": "[user]\n\tname = A\n\temail = a@example.com\n",
		})
		if err := os.Chmod(p.path("editor"), 0o755); err != nil {
			t.Fatal(err)
		}
		git := func(args ...string) string {
			t.Helper()
			cmd := exec.Command("git", args...)
			cmd.Dir, cmd.Env = p.path("repo"), append(os.Environ(), "HOME="+p.path("home"), "GIT_CONFIG_NOSYSTEM=1")
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("git %v: %v\n%s", args, err, out)
			}
			return strings.TrimSpace(string(out))
		}
		git("init", "-q")
		git("add", ".")
		git("commit", "-q", "-m", "Start")
		if err := os.WriteFile(p.path("repo/a.txt"), []byte("b\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		git("add", ".")
		term, wait := p.terminal(100, []string{"GIT_EDITOR=" + p.path("editor"), "TERM=xterm"}, "commit", "-m", "script:../turns.yaml")
		term.expect("[y]es, [e]dit it first, [n]o: ", c.answer)
		if code := wait(); code != c.code {
			t.Errorf("%q: exit code %d, want %d\n%s", c.answer, code, c.code, term.text())
		}
		if got := git("log", "--format=%s", "-1"); got != c.want {
			t.Errorf("%q: committed %q, want %q\n%s", c.answer, got, c.want, term.text())
		}
	}
}
