package main

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
)

// fixRivals are a repair that does not help and one that does, of two agents.
const fixRivals = `scenes:
  - when: You repair the code
    turns:
      - calls: [{name: write_file, args: {path: worse.txt, content: "worse\n"}}]
      - calls: [{name: finish, args: {summary: Fixed.}}]
  - when: until it does what was asked
    turns:
      - calls: [{name: edit_file, args: {path: a.txt, old: wrong, new: right}}]
      - calls: [{name: finish, args: {summary: Right now.}}]
`

// TestKillFixParallel kills, at its points, a job whose agents repair at once: it ends
// as one that was not killed, and no copy of the work tree is left.
func TestKillFixParallel(t *testing.T) {
	if testing.Short() {
		t.Skip("starts some forty processes; run it without -short")
	}
	t.Parallel()
	bin := program(t)
	last, _ := points(t, 9, func(n int) bool {
		p := newPlace(t, map[string]string{"turns.yaml": fixRivals, "repo/a.txt": "wrong\n", "repo/build.sh": fixBuild})
		p.bin = bin
		p.env = append(p.env, fmt.Sprintf("ADROIT_KILL_AT=%d", n))
		code, out := p.run("fix", "--parallel", "2", "-m", "script:../turns.yaml", "--", "sh", "build.sh")
		p.env = p.env[:len(p.env)-1]
		killed := code == -int(syscall.SIGKILL)
		if !killed && code != 0 {
			t.Fatalf("point %d: exit code %d\n%s", n, code, out)
		}
		if killed {
			if code, out = p.run("jobs", "resume", "last"); code != 0 {
				t.Errorf("point %d: resume: exit code %d\n%s", n, code, out)
			}
		}
		_, fix := p.run("jobs", "artifacts", "last", "fix")
		if p.read("repo/a.txt") != "right\n" || p.read("repo/worse.txt") != "" || strings.Count(fix, `"outcome": "works"`) != 1 || !strings.Contains(fix, `"others"`) {
			t.Errorf("point %d: a.txt is %q, worse.txt %q\n%s\n%s", n, p.read("repo/a.txt"), p.read("repo/worse.txt"), fix, out)
		}
		if _, job := p.run("jobs", "show", "last", "--json"); strings.Contains(job, `"worktrees"`) {
			t.Errorf("point %d: a copy of the work tree is left\n%s", n, job)
		}
		return killed
	})
	if last < 40 {
		t.Errorf("the last point was %d; the job cannot have been killed everywhere", last)
	}
}
