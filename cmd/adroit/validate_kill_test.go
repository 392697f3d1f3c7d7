package main

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
)

// stages is a validation of three stages, the second repaired once.
const stages = `[{"name": "first", "run": "echo x >>log"},
  {"name": "word", "run": "grep -q right word", "fix": true},
  {"name": "last", "run": "test -s log"}]`

const mends = `scenes:
  - when: attempt 1 of 3
    turns:
      - calls: [{name: write_file, args: {path: word, content: "right\n"}}]
      - calls: [{name: finish, args: {summary: The word is right.}}]
  - when: attempt 2 of 3
    turns:
      - calls: [{name: write_file, args: {path: word, content: "right\n"}}]
      - calls: [{name: finish, args: {summary: The word is right.}}]
`

// TestKillValidation kills a validation at its points (a sample of them: see
// points), and resumes it: it ends as one that was not killed,
// and the fixer was asked once. Commands that were cut short are run again,
// since a check may be.
func TestKillValidation(t *testing.T) {
	if testing.Short() {
		t.Skip("starts some sixty processes; run it without -short")
	}
	t.Parallel()
	bin := program(t)
	run := []string{"run", "validate", "-m", "script:../turns.yaml", "-i", "stages=@../stages.json", "--approve", "all"}
	last, _ := points(t, 7, func(n int) bool {
		p := newPlace(t, map[string]string{"turns.yaml": mends, "stages.json": stages, "repo/word": "wrong\n"})
		p.bin = bin
		p.env = append(p.env, fmt.Sprintf("ADROIT_KILL_AT=%d", n))
		code, out := p.run(run...)
		if code == 0 {
			return false
		}
		if code != -int(syscall.SIGKILL) {
			t.Fatalf("point %d: exit code %d\n%s", n, code, out)
		}
		p.env = p.env[:len(p.env)-1]
		if code, out = p.run("jobs", "resume", "last"); code != 0 {
			t.Errorf("point %d: resume: exit code %d\n%s", n, code, out)
			return true
		}
		for _, want := range []string{"first  passed", "word   fixed   after 1 attempt", "last   passed"} {
			if !strings.Contains(out, want) {
				t.Errorf("point %d: it does not say %q\n%s", n, want, out)
			}
		}
		if log := p.read("repo/log"); log != "x\n" && log != "x\nx\n" || p.read("repo/word") != "right\n" {
			t.Errorf("point %d: the log is %q, the word %q", n, log, p.read("repo/word"))
		}
		return true
	})
	if last < 60 {
		t.Errorf("the last point was %d; the validation cannot have been killed everywhere", last)
	}
}
