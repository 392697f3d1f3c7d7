package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/githubtest"
	"github.com/adroit-run/adroit/internal/dev/testenv"
)

// At a terminal adroit git commit asks, and an edited message is the user's.
func TestCommitAsks(t *testing.T) {
	t.Parallel()
	testenv.NeedsProgram(t, "git")
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
		term, wait := p.terminal(100, []string{"GIT_EDITOR=" + p.path("editor"), "TERM=xterm"}, "git", "commit", "-m", "script:../turns.yaml")
		term.expect("[y]es, [e]dit it first, [n]o: ", c.answer)
		if code := wait(); code != c.code {
			t.Errorf("%q: exit code %d, want %d\n%s", c.answer, code, c.code, term.text())
		}
		if got := git("log", "--format=%s", "-1"); got != c.want {
			t.Errorf("%q: committed %q, want %q\n%s", c.answer, got, c.want, term.text())
		}
	}
}

// At a terminal adroit git pr shows what would be pushed, and does nothing without a yes.
func TestPRAsks(t *testing.T) {
	t.Parallel()
	gh := testenv.NeedsVariable(t, "GH_BIN", "build.sh gh")
	for _, c := range []struct {
		answer string
		code   int
		pushed bool
	}{{"what\ny\n", 0, true}, {"n\n", 5, false}, {"\x04", 5, false}} {
		hub := githubtest.New()
		p := newPlace(t, map[string]string{
			"turns.yaml": "turns: [{text: no}]\nasides:\n  - {expect: {contains: one commit}, text: '{\"subject\": \"Say b\", \"body\": \"\"}'}\n  - {expect: {contains: Say b}, text: '{\"title\": \"Say b, not a\", \"body\": \"Nobody reads \\u001b[31m a.\"}'}\n",
			"repo/a.txt": "a\n", "home/.config/adroit/config.yaml": hubConfig(filepath.Dir(gh)), "home/.gitconfig": "[user]\n\tname = A\n\temail = a@example.com\n",
			"repo.sh": "set -e\ngit init -q --bare ../hub.git\ngit init -q -b main\ngit add .\ngit commit -qm Start\ngit remote add origin https://github.localhost/acme/shop.git\n" +
				"git remote set-url --push origin $PWD/../hub.git\ngit push -q origin main\ngit fetch -q ../hub.git '+refs/heads/*:refs/remotes/origin/*'\ngit switch -qc round\necho b >a.txt\n",
		})
		p.env = append(p.env, "HUB_TOKEN="+githubtest.Token, "HTTP_PROXY="+hub.URL, "PATH="+filepath.Dir(gh)+":"+os.Getenv("PATH"))
		setup := exec.Command("sh", p.path("repo.sh"))
		setup.Dir, setup.Env = p.path("repo"), append(os.Environ(), "HOME="+p.path("home"), "GIT_CONFIG_NOSYSTEM=1")
		if out, err := setup.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		term, wait := p.terminal(80, []string{"TERM=xterm", "NO_COLOR=1"}, "git", "pr", "--all", "-m", "script:../turns.yaml")
		term.expect("push it and open the pull request? [y]es, [n]o: ", c.answer)
		if code := wait(); code != c.code {
			t.Errorf("%q: exit code %d, want %d\n%s", c.answer, code, c.code, term.text())
		}
		for _, want := range []string{"round -> main  at acme/shop", "Say b, not a", `Nobody reads \x1b[31m a.`, "a.txt | 2 +-"} {
			if !strings.Contains(term.text(), want) {
				t.Errorf("%q is not shown:\n%s", want, term.text())
			}
		}
		hub.Close()
		opened := slices.Contains(hub.Seen, "POST /repos/acme/shop/pulls")
		pushed := exec.Command("git", "-C", p.path("hub.git"), "rev-parse", "--verify", "-q", "refs/heads/round").Run() == nil
		if opened != c.pushed || pushed != c.pushed {
			t.Errorf("%q: pushed %v, opened %v\n%s", c.answer, pushed, opened, term.text())
		}
	}
}
