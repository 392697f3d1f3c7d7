package main

import (
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/testenv"
)

// TestKillAtApproval kills the runner at each point before and after a person
// approves (a sample of them: see points). The command never runs before the approval, and at most once after
// it; a call that only found that it must ask is never taken for one that may
// have happened.
func TestKillAtApproval(t *testing.T) {
	testenv.Long(t, "starts some hundred processes")
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
	start := []string{"run", "hand", "go", "-m", "script:../turns.yaml"}
	before, _ := points(t, 3, func(n int) bool {
		p := fresh()
		killed, out := p.kill(n, 4, start...)
		if killed {
			out = p.ok(4, "continue", "last")
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
		if code, out := p.run("answer", "signal", "last", "approve"); code != 0 || !strings.Contains(out, "echo x >>log") {
			t.Fatalf("approve: exit code %d\n%s", code, out)
		}
		killed, out := p.kill(n, 0, "continue", "last")
		if killed {
			out = p.ok(0, "continue", "last")
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
