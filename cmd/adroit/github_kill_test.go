package main

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/adroit-run/adroit/internal/dev/githubtest"
	"github.com/adroit-run/adroit/internal/dev/testenv"
)

// TestPRKilled kills adroit git pr behind the push: before GitHub has the pull request, and
// when it has it and has not said so. Run again, there is exactly one.
func TestPRKilled(t *testing.T) {
	t.Parallel()
	gh := testenv.NeedsVariable(t, "GH_BIN", "build.sh gh")
	for name, kept := range map[string]bool{"before it is open": false, "before it is known to be open": true} {
		t.Run(name, func(t *testing.T) {
			hub := githubtest.New()
			defer hub.Close()
			s := newSite(t, "HUB_TOKEN="+githubtest.Token, "HTTP_PROXY="+hub.URL, "OLLAMA_HOST=127.0.0.1:9")
			s.env = append(s.env, "PATH="+filepath.Dir(gh)+string(filepath.ListSeparator)+os.Getenv("PATH"))
			s.configure(t, hubConfig(filepath.Dir(gh)))
			dir := t.TempDir()
			repo := filepath.Join(dir, "repo")
			git := func(args ...string) string {
				t.Helper()
				cmd := exec.Command("git", append([]string{"-C", repo, "-c", "user.name=T", "-c", "user.email=t@example.com"}, args...)...)
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("git %v: %v\n%s", args, err, out)
				}
				return strings.TrimSpace(string(out))
			}
			put(t, filepath.Join(s.home, ".gitconfig"), "[user]\n\tname = T\n\temail = t@example.com\n")
			put(t, filepath.Join(repo, "cart.go"), "package shop\n")
			put(t, filepath.Join(dir, "ok.yaml"), `turns: [{text: nothing}]
asides:
  - {expect: {contains: You write the message of one commit}, text: '{"subject": "Round totals per cart", "body": ""}'}
  - {expect: {contains: 'Round totals per cart'}, text: '{"title": "Round totals", "body": "Cents were lost in totals of carts."}'}
`)
			git("init", "-q", "-b", "main")
			git("init", "-q", "--bare", "../hub.git")
			git("add", ".")
			git("commit", "-qm", "Start")
			git("remote", "add", "origin", "https://github.localhost/acme/shop.git")
			git("remote", "set-url", "--push", "origin", filepath.Join(dir, "hub.git"))
			git("push", "-q", "origin", "main")
			git("fetch", "-q", "../hub.git", "+refs/heads/*:refs/remotes/origin/*")
			git("switch", "-q", "-c", "totals")
			put(t, filepath.Join(repo, "cart.go"), "package shop\n\nfunc Round() {}\n")

			cmd := exec.CommandContext(t.Context(), s.bin, "git", "pr", "--all", "--yes", "-m", "script:../ok.yaml")
			cmd.Env, cmd.Dir, cmd.WaitDelay = s.env, repo, time.Minute
			out := new(lockedBuffer)
			cmd.Stdout, cmd.Stderr = out, out
			ended, killed := make(chan struct{}), false
			kill := func(r *http.Request) {
				if killed || r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/pulls") {
					return
				}
				killed = true
				if err := cmd.Process.Kill(); err != nil {
					t.Errorf("killing it: %v", err)
				}
				<-ended
				panic(http.ErrAbortHandler) // nobody is there for the answer
			}
			hub.Lock()
			if kept {
				hub.After = kill
			} else {
				hub.Answer = func(_ http.ResponseWriter, r *http.Request) bool { kill(r); return false }
			}
			hub.Unlock()
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait() // killed
			close(ended)
			if at := git("--git-dir", "../hub.git", "rev-parse", "totals"); at != git("rev-parse", "totals") {
				t.Fatalf("nothing is pushed: %s\n%s", at, out)
			}
			open := func() int {
				hub.Lock()
				defer hub.Unlock()
				n := 0
				for _, i := range hub.Issues {
					if head, _ := i["head"].(map[string]any); head["ref"] == "totals" {
						n++
					}
				}
				return n
			}
			if n := open(); !killed || n != map[bool]int{true: 1, false: 0}[kept] {
				t.Fatalf("killed: %t; %d are open\n%s", killed, n, out)
			}
			again, err := s.adroit(t, repo, "git", "pr", "--all", "--yes", "-m", "script:../ok.yaml")
			if err != nil || !strings.Contains(again, "https://github.localhost/acme/shop/pull/21\n") || open() != 1 {
				t.Errorf("again: %v, %d are open\n%s", err, open(), again)
			}
			if said := "#21 is open already, and has all commits"; strings.Contains(again, said) != kept {
				t.Errorf("again, %s: %s", fmt.Sprint(kept), again)
			}
			if got := git("log", "--format=%s"); got != "Round totals per cart\nStart" {
				t.Errorf("commits: %s", got)
			}
		})
	}
}
