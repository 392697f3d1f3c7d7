package main

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
)

// TestKillAtApproval kills the runner at each point before and after a person
// approves (a sample of them: see points). The command never runs before the approval, and at most once after
// it; a call that only found that it must ask is never taken for one that may
// have happened.
func TestKillAtApproval(t *testing.T) {
	if testing.Short() {
		t.Skip("starts some hundred processes; run it without -short")
	}
	t.Parallel()
	bin := program(t)
	fresh := func() *place {
		p := newPlace(t, map[string]string{"home/.config/adroit/agents/hand.md": hand, "repo/b.txt": "old\n", "turns.yaml": `turns:
  - calls: [{name: shell, args: {command: "echo x >>log"}}]
  - calls: [{name: finish, args: {summary: Made.}}]
`})
		p.bin = bin
		return p
	}
	// at runs a command that is killed at point n; it reports whether it was.
	at := func(p *place, n int, want int, args ...string) (killed bool, out string) {
		t.Helper()
		env := p.env
		p.env = append(p.env[:len(p.env):len(p.env)], fmt.Sprintf("ADROIT_KILL_AT=%d", n))
		code, out := p.run(args...)
		p.env = env
		if killed = code == -int(syscall.SIGKILL); !killed && code != want {
			t.Fatalf("point %d of %s: exit code %d\n%s", n, args, code, out)
		}
		return killed, out
	}
	start := []string{"run", "hand", "go", "-m", "script:../turns.yaml"}
	before, _ := points(t, 3, func(n int) bool {
		p := fresh()
		killed, out := at(p, n, 4, start...)
		if killed {
			var code int
			if code, out = p.run("jobs", "resume", "last"); code != 4 {
				t.Fatalf("before, point %d: exit code %d\n%s", n, code, out)
			}
		}
		if _, ran := p.tree()["log"]; ran || strings.Contains(out, "may or may not") {
			t.Errorf("before, point %d: the command ran, or is said to have\n%s", n, out)
		}
		return killed
	})
	after, _ := points(t, 3, func(n int) bool {
		p := fresh()
		if code, out := p.run(start...); code != 4 {
			t.Fatalf("exit code %d\n%s", code, out)
		}
		if code, out := p.run("signal", "last", "approve"); code != 0 || !strings.Contains(out, "echo x >>log") {
			t.Fatalf("approve: exit code %d\n%s", code, out)
		}
		killed, out := at(p, n, 0, "jobs", "resume", "last")
		if killed {
			var code int
			if code, out = p.run("jobs", "resume", "last"); code != 0 {
				t.Fatalf("after, point %d: exit code %d\n%s", n, code, out)
			}
		}
		switch log := p.tree()["log"]; {
		case strings.Count(log, "x") > 1:
			t.Errorf("after, point %d: the command ran twice", n)
		case log == "" && !strings.Contains(out, "may or may not"):
			t.Errorf("after, point %d: the command was approved, did not run, and no one was notified\n%s", n, out)
		}
		return killed
	})
	if before < 8 || after < 8 {
		t.Errorf("%d points before and %d after: it cannot have been killed everywhere", before, after)
	}
}
