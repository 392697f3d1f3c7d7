package main

import (
	"os"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/testenv"
)

// A coordinated job is cancelled while a command repairs, while who decides is asked,
// while an agent repairs and while the command is run again: it ends as cancelled,
// what was changed can be undone, and nothing goes on.
func TestFixCancel(t *testing.T) {
	testenv.Long(t, "starts six jobs in the background")
	t.Parallel()
	const slow = `scenes:
  - when: You repair the code
    turns:
      - {delay: DELAY-REPAIR, calls: [{name: write_file, args: {path: worse.txt, content: "x\n"}}]}
      - calls: [{name: finish, args: {summary: Fixed.}}]
  - when: until it does what was asked
    turns:
      - {delay: DELAY-REPAIR, calls: [{name: write_file, args: {path: worse.txt, content: "x\n"}}]}
      - calls: [{name: finish, args: {summary: Fixed.}}]
  - when: You decide what happens next
    turns:
      - {delay: DELAY-DECIDE, text: '{"decision": "ESCALATE", "reasoning": "x", "agent": "", "instructions": "", "diagnose": false, "hint": ""}'}
`
	const wrong = "echo 'a.c:1:1: error: it is wrong'; exit 1"
	for _, c := range []struct{ phase, event, decide, repair, build string }{
		{"wait", `RETRY (rule no-network)`, "0s", "0s", "echo 'getaddrinfo ENOTFOUND example.org'; exit 1"},
		{"decide", `"name":"failure-analyst"`, "10m", "0s", wrong},
		{"delegate", `DELEGATE to code-fix`, "0s", "10m", wrong},
		{"parallel", `"name":"builder"`, "0s", "10m", wrong},
		{"verify in a copy", `"kind":"agent.finished"`, "0s", "0s", "if test -f worse.txt; then while ! test -f never; do sleep 0.05; done; fi; " + wrong},
		{"verify", `running`, "0s", "0s", "if test -f worse.txt; then touch running; while ! test -f never; do sleep 0.05; done; fi; echo 'a.c:1:1: error: it is wrong'; exit 1"},
	} {
		t.Run(c.phase, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, map[string]string{"repo/build.sh": c.build, "turns.yaml": strings.NewReplacer("DELAY-REPAIR", c.repair, "DELAY-DECIDE", c.decide).Replace(slow)})
			parallel := "1"
			if c.phase == "parallel" || c.phase == "verify in a copy" {
				parallel = "2"
			}
			cmd, out := p.command("fix", "--parallel", parallel, "-m", "script:../turns.yaml", "--sandbox", "landlock", "--escalate", "report", "--", "sh", "build.sh")
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			await(t, c.phase, func() bool {
				if c.phase == "verify" {
					_, err := os.Stat(p.path("repo/running"))
					return err == nil
				}
				_, log := p.run("jobs", "logs", "last", "--json")
				if c.phase == "decide" {
					return strings.Contains(log, "failure-analyst")
				}
				return strings.Contains(log, c.event)
			})
			if code, out := p.run("jobs", "cancel", "last"); code != 0 {
				t.Fatalf("cancel: exit code %d\n%s", code, out)
			}
			if code := ended(t, cmd.Wait()); code != 5 {
				t.Errorf("exit code %d, want 5\n%s", code, out)
			}
			if _, show := p.run("jobs", "show", "last"); !strings.Contains(show, "cancelled") {
				t.Errorf("the job is not cancelled:\n%s", show)
			}
			if code, out := p.run("jobs", "undo", "last", "--include-uncertain"); code > 1 {
				t.Errorf("undo: exit code %d\n%s", code, out)
			}
			if p.read("repo/worse.txt") != "" {
				t.Errorf("what an agent changed is still there\n%s", out)
			}
			if code, out := p.run("continue", "last"); code == 0 {
				t.Errorf("a cancelled job goes on:\n%s", out)
			}
		})
	}
}
