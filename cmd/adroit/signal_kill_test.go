package main

import (
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/testenv"
)

// TestKillAtSignal kills the runner at points of the run that applies a signal
// which was sent while nothing ran. It is applied once: the step that waits for
// the same name next still waits, and gets what is sent then.
func TestKillAtSignal(t *testing.T) {
	testenv.Long(t, "starts some hundred processes")
	t.Parallel()
	bin := program(t)
	last, _ := points(t, 6, func(n int) bool {
		p := newPlace(t, map[string]string{"repo/a.txt": "a\n", "home/.config/adroit/pipelines/twice.yaml": `steps:
  - {id: a, await: {signal: verdict, question: "First?"}, output: one}
  - {id: b, await: {signal: verdict, question: "Second?"}, output: two}
  - {id: w, tool: write_file, args: {path: o.txt, content: "{{one}} {{two}}"}}
`})
		p.bin = bin
		switch out := p.ok(4, "run", "twice", "--approve", "all", "--sandbox", "off", "--json"); {
		case !strings.Contains(out, `"kind":"job.waiting"`):
			t.Fatalf("out lacks `\"kind\":\"job.waiting\"`: it does not say what it waits for:\n%s", out)
		case !strings.Contains(out, `"reason":"waits for the signal verdict"`):
			t.Fatalf("out lacks `\"reason\":\"waits for the signal verdict\"`: it does not say what it waits for:\n%s", out)
		case !strings.Contains(out, `"signals":["verdict"]`):
			t.Fatalf("out lacks `\"signals\":[\"verdict\"]`: it does not say what it waits for:\n%s", out)
		case !strings.Contains(out, `"question":"First?"`):
			t.Fatalf("out lacks `\"question\":\"First?\"`: it does not say what it waits for:\n%s", out)
		}
		p.ok(0, "answer", "signal", "last", "verdict", "one")
		killed, out := p.kill(n, 4, "continue", "last")
		if killed {
			out = p.ok(4, "continue", "last")
		}
		if !strings.Contains(out, "waiting for a person: Second?") {
			t.Errorf("point %d: it does not wait a second time:\n%s", n, out)
		}
		p.ok(0, "answer", "signal", "last", "verdict", "two")
		p.ok(0, "continue", "last")
		if got := p.read("repo/o.txt"); got != "one two" {
			t.Errorf("point %d: the answers were %q", n, got)
		}
		return killed
	})
	if last < 10 {
		t.Errorf("the last point was %d; it cannot have been killed everywhere", last)
	}
}
