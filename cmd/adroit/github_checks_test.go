package main

import (
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/githubtest"
	"github.com/adroit-run/adroit/internal/dev/testenv"
)

// A watched is a clone of a repository on a GitHub on loopback with the pull request 13, whose
// check fails for as long as cart.go has a fault.
type watched struct {
	*place
	hub *githubtest.Server
}

// checkTurns has the triager look, and the fixer take one of the faults away in each round.
const checkTurns = `
scenes:
  - when: You read a report about the project
    turns:
      - calls: [{name: report_triage, args: {kind: bug, severity: major, area: cart, files: [{path: cart.go, reason: It is there.}], reproduction: "", next_step: Take it away., confidence: high}}]
      - calls: [{name: finish, args: {summary: The cart has a fault.}}]
`

func fixes(n int) string {
	return fmt.Sprintf(`  - when: cart.go has fault %[1]d
    turns:
      - calls: [{name: edit_file, args: {path: cart.go, old: fault %[1]d, new: %[2]s}}]
      - calls: [{name: finish, args: {summary: Fault %[1]d is gone.}}]
`, n, map[bool]string{true: "sound", false: fmt.Sprint("fault ", n-1)}[n == 1])
}

// newWatched begins with that many faults, of which each fix takes one away.
func newWatched(t *testing.T, faults int) *watched {
	t.Helper()
	gh := testenv.NeedsVariable(t, "GH_BIN", "build.sh gh")
	turns := checkTurns
	for n := 1; n <= faults; n++ {
		turns += fixes(n)
	}
	w := &watched{newPlace(t, map[string]string{"repo/cart.go": fmt.Sprintf("package shop\n\n// fault %d\n", faults), "turns.yaml": turns}), githubtest.New()}
	t.Cleanup(w.hub.Close)
	bare := w.path("hub.git")
	w.env = append(w.env, "PATH="+filepath.Dir(gh)+string(filepath.ListSeparator)+os.Getenv("PATH"),
		"HUB_TOKEN="+githubtest.Token, "HTTP_PROXY="+w.hub.URL, "HOOK_SECRET=sesame")
	put(t, w.path("home/.config/adroit/config.yaml"), hubConfig(filepath.Dir(gh))+"model: script:"+w.path("turns.yaml")+`
triggers:
  checks:
    webhook: {scheme: github, secret_env: HOOK_SECRET, events: [workflow_run]}
    when: {action: [completed], workflow_run.conclusion: [failure]}
    run: pr_checks
    dir: `+w.path("repo")+`
    inputs: {repo: "{{repository.full_name}}", number: "{{workflow_run.pull_requests[0].number}}"}
`)
	put(t, w.path("home/.gitconfig"), "[user]\n\tname = T\n\temail = t@example.com\n[url \""+bare+"\"]\n\tinsteadOf = https://github.localhost/acme/shop.git\n")
	git := func(args ...string) { w.git(args...) }
	git("init", "-q", "--bare", "../hub.git")
	git("init", "-q", "-b", "main")
	git("add", ".")
	git("commit", "-qm", "Start")
	git("remote", "add", "origin", "https://github.localhost/acme/shop.git")
	git("push", "-q", "origin", "main", "main:fix")
	w.hub.Lock()
	defer w.hub.Unlock()
	w.hub.Statuses = nil
	w.hub.Answer = func(_ http.ResponseWriter, r *http.Request) bool {
		w.hub.Issues[13]["head"].(map[string]any)["sha"] = w.tip()
		if _, rest, ok := strings.Cut(r.URL.Path, "/commits/"); ok {
			commit, _, _ := strings.Cut(rest, "/")
			state := map[string]any{"name": "tests", "status": "completed", "conclusion": "success"}
			if _, fault, bad := strings.Cut(w.git("--git-dir", bare, "show", commit+":cart.go"), "fault "); bad {
				state["conclusion"], state["output"] = "failure", map[string]any{"title": "1 failed", "summary": "cart.go has fault " + strings.TrimSpace(fault)}
			}
			w.hub.Checks = []map[string]any{state}
		}
		return false
	}
	return w
}

// git runs git in the clone.
func (w *watched) git(args ...string) string {
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = w.path("repo"), w.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.t.Errorf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// tip is the commit of the pull request's branch on GitHub.
func (w *watched) tip() string { return w.git("--git-dir", w.path("hub.git"), "rev-parse", "fix") }

// pushes are the subjects of what was pushed to it, the newest first.
func (w *watched) pushes() []string {
	return strings.Fields(strings.ReplaceAll(w.git("--git-dir", w.path("hub.git"), "log", "--format=%s", "main..fix"), " ", "_"))
}

func (w *watched) watch(args ...string) (int, string) {
	return w.run(append([]string{"run", "pr_checks", "-i", "repo=acme/shop", "-i", "number=13"}, args...)...)
}

// A webhook of GitHub's about a check that failed starts a job, whose fix is pushed once a person
// has seen it and agreed; it is done when the checks of what was pushed pass.
func TestChecksAreFixed(t *testing.T) {
	t.Parallel()
	w := newWatched(t, 1)
	s := startServer(t, w.bin, w.env, w.path("repo"), "serve", "--listen", "127.0.0.1:0")
	body := `{"action":"completed","repository":{"full_name":"acme/shop"},"workflow_run":{"conclusion":"failure","pull_requests":[{"number":13}]}}`
	until(t, "the engine", func() bool {
		req, err := http.NewRequest(http.MethodPost, s.url+"/hooks/checks", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-GitHub-Event", "workflow_run")
		req.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(signed("sesame", body)))
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		b, _ := io.ReadAll(res.Body) // for the message
		if res.StatusCode != 202 && res.StatusCode != 503 {
			t.Fatalf("%d %s", res.StatusCode, b)
		}
		return res.StatusCode == 202
	})
	is := func(status string) func() bool {
		return func() bool {
			all := jobsWith(t, w.bin, w.env, "trigger/checks/")
			if len(all) == 1 && all[0].Status != status && all[0].Status != "running" && all[0].Status != "queued" && all[0].Status != "waiting" {
				_, text := w.run("jobs", "show", all[0].ID)
				t.Fatalf("the job is %s\n%s", all[0].Status, text)
			}
			return len(all) == 1 && all[0].Status == status
		}
	}
	until(t, "the question", is("waiting"))
	if got := w.pushes(); len(got) != 0 {
		t.Errorf("pushed before anybody agreed: %v", got)
	}
	w.env = append(w.env, "ADROIT_SERVER="+s.url)
	_, text := w.run("jobs", "show", "last", "--json")
	for _, want := range []string{"github_pr_push", "pushes to fix at acme/shop", "Fix the checks of #13", "-// fault 1", "+// sound", `"untrusted"`} {
		if !strings.Contains(text, want) {
			t.Errorf("the job does not show %q:\n%s", want, text)
		}
	}
	if code, text := w.run("answer", "approve", "last"); code != 0 {
		t.Fatalf("approving: %d\n%s", code, text)
	}
	defer func() {
		if t.Failed() {
			_, text := w.run("jobs", "logs", "last")
			t.Log(text)
		}
	}()
	until(t, "the end", is("done"))
	if got := w.pushes(); len(got) != 1 || got[0] != "Fix_the_checks_of_#13" {
		t.Errorf("pushed: %v", got)
	}
	if err := s.stop(); err != nil {
		t.Errorf("the server: %v", err)
	}
}

// What is fixed again and again is pushed three times and no more; nothing is pushed if a person
// says no, and nothing is done where the checks pass.
func TestChecksHaveABound(t *testing.T) {
	t.Parallel()
	w := newWatched(t, 5)
	code, text := w.watch()
	if code != 4 || !strings.Contains(text, "waiting for a person: may github_pr_push run") {
		t.Fatalf("exit code %d\n%s", code, text)
	}
	if _, log := w.run("jobs", "logs", "last"); strings.Contains(log, "is an integer") { // what the pipeline fills in, nobody wrote in another form
		t.Errorf("the log blames the pipeline's arguments:\n%s", log)
	}
	if code, text = w.run("answer", "deny", "last"); code != 1 || !strings.Contains(text, "step push: not run: denied by a person") || len(w.pushes()) != 0 {
		t.Errorf("denied: exit code %d, pushed %v\n%s", code, w.pushes(), text)
	}
	code, text = w.watch("--approve", "all")
	if code != 3 || !strings.Contains(text, "step fix was run 3 times, as often as its max allows") || len(w.pushes()) != 3 {
		t.Errorf("exit code %d, pushed %v\n%s", code, w.pushes(), text)
	}
	w.git("push", "-q", "--force", "origin", "main:fix")
	w.git("switch", "-q", "main")
	put(t, w.path("repo/cart.go"), "package shop\n")
	w.git("commit", "-qam", "By hand")
	w.git("push", "-q", "origin", "main:fix")
	if code, text = w.watch(); code != 0 || !strings.Contains(text, "done: 2 of 6 steps done, skipped: triage, fix, commit, push") {
		t.Errorf("where all passes: exit code %d\n%s", code, text)
	}
}

// Killed while the remote takes a push, the job asks a person before it pushes again, and there is
// one push in the end, with one commit.
func TestPushKilled(t *testing.T) {
	t.Parallel()
	for _, hook := range []string{"pre-receive", "post-receive"} {
		t.Run(hook, func(t *testing.T) {
			t.Parallel()
			w := newWatched(t, 1)
			// It holds the push until the job is dead.
			put(t, w.path("hub.git/hooks/"+hook), "#!/bin/sh\necho x >>../began\nwhile [ ! -e ../dead ]; do sleep 0.05; done\n")
			if err := os.Chmod(w.path("hub.git/hooks/"+hook), 0o755); err != nil {
				t.Fatal(err)
			}
			cmd, out := w.command("run", "pr_checks", "-i", "repo=acme/shop", "-i", "number=13", "--approve", "all")
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			until(t, "the push", func() bool {
				_, err := os.Stat(w.path("began"))
				return err == nil
			})
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait() // killed
			put(t, w.path("dead"), "")
			until(t, "what was pushed", func() bool { return len(w.pushes()) == 1 })
			tip := w.tip()
			code, text := w.run("continue", "last")
			if code != 4 || !strings.Contains(text, "to publish again may publish twice") {
				t.Fatalf("continued: exit code %d\n%s\nbefore:\n%s", code, text, out)
			}
			if code, text := w.run("answer", "approve", "last"); code != 0 {
				t.Errorf("approved: exit code %d\n%s", code, text)
			}
			if began := strings.Count(w.read("began"), "x"); began != 1 || w.tip() != tip || len(w.pushes()) != 1 {
				t.Errorf("pushed %d times, %v", began, w.pushes())
			}
		})
	}
}
