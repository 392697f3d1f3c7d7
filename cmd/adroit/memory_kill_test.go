package main

import (
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/testenv"
)

const rememberTurns = `turns:
  - calls: [{name: remember, args: {text: tests run with make fast, kind: command, file: Makefile}}]
  - text: "Noted.\nDONE"
`

// TestKillAtRemember kills a job that remembers at points of its run. The fact is
// there once afterwards, and so is the job's summary, also that of a job whose
// process was killed after its end.
func TestKillAtRemember(t *testing.T) {
	testenv.Long(t, "starts some hundred processes")
	t.Parallel()
	bin := program(t)
	last, _ := points(t, 3, func(n int) bool {
		p := newPlace(t, map[string]string{"turns.yaml": rememberTurns, "repo/Makefile": "fast:\n",
			"home/.config/adroit/agents/hand.md": "---\nname: hand\ndescription: Does it.\nmemory: project\ndone: {signal: DONE}\n---\nDo it.\n"})
		p.bin = bin
		killed, _ := p.kill(n, 0, "run", "hand", "note it", "-m", "script:"+p.path("turns.yaml"), "--sandbox", "off")
		if killed {
			p.run("continue", "last") // which fails if it had ended
		}
		p.ok(0, "run", "hand", "look", "-m", "script:"+p.path("turns.yaml"), "--dry-run")
		facts := p.ok(0, "agents", "memory", "export")
		if strings.Count(facts, `"kind":"command"`) != 1 || strings.Count(facts, `"kind":"summary"`) != 1 {
			t.Errorf("point %d: %s", n, facts)
		}
		return killed
	})
	if last < 5 {
		t.Errorf("the run has only %d points", last)
	}
}
