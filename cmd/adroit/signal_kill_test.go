package main

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
)

// TestKillAtSignal kills the runner at points of the run that applies a signal
// which was sent while nothing ran. It is applied once: the step that waits for
// the same name next still waits, and gets what is sent then.
func TestKillAtSignal(t *testing.T) {
	if testing.Short() {
		t.Skip("starts some hundred processes; run it without -short")
	}
	t.Parallel()
	bin := program(t)
	last, _ := points(t, 6, func(n int) bool {
		p := newPlace(t, map[string]string{"repo/a.txt": "a\n", "home/.config/adroit/pipelines/twice.yaml": `steps:
  - {id: a, await: {signal: verdict, question: "First?"}, output: one}
  - {id: b, await: {signal: verdict, question: "Second?"}, output: two}
  - {id: w, tool: write_file, args: {path: o.txt, content: "{{one}} {{two}}"}}
`})
		p.bin = bin
		run := func(want int, args ...string) string {
			t.Helper()
			code, out := p.run(args...)
			if code != want {
				t.Fatalf("point %d of %s: exit code %d, want %d\n%s", n, args, code, want, out)
			}
			return out
		}
		switch out := run(4, "run", "twice", "--approve", "all", "--sandbox", "off", "--json"); {
		case !strings.Contains(out, `"kind":"job.waiting"`):
			t.Fatalf("out lacks `\"kind\":\"job.waiting\"`: it does not say what it waits for:\n%s", out)
		case !strings.Contains(out, `"reason":"waits for the signal verdict"`):
			t.Fatalf("out lacks `\"reason\":\"waits for the signal verdict\"`: it does not say what it waits for:\n%s", out)
		case !strings.Contains(out, `"signals":["verdict"]`):
			t.Fatalf("out lacks `\"signals\":[\"verdict\"]`: it does not say what it waits for:\n%s", out)
		case !strings.Contains(out, `"question":"First?"`):
			t.Fatalf("out lacks `\"question\":\"First?\"`: it does not say what it waits for:\n%s", out)
		}
		run(0, "signal", "last", "verdict", "one")
		env := p.env
		p.env = append(p.env[:len(p.env):len(p.env)], fmt.Sprintf("ADROIT_KILL_AT=%d", n))
		code, out := p.run("jobs", "resume", "last")
		p.env = env
		killed := code == -int(syscall.SIGKILL)
		if !killed && code != 4 {
			t.Fatalf("point %d: exit code %d\n%s", n, code, out)
		}
		if killed {
			out = run(4, "jobs", "resume", "last")
		}
		if !strings.Contains(out, "waiting for a person: Second?") {
			t.Errorf("point %d: it does not wait a second time:\n%s", n, out)
		}
		run(0, "signal", "last", "verdict", "two")
		run(0, "jobs", "resume", "last")
		if got := p.read("repo/o.txt"); got != "one two" {
			t.Errorf("point %d: the answers were %q", n, got)
		}
		return killed
	})
	if last < 10 {
		t.Errorf("the last point was %d; it cannot have been killed everywhere", last)
	}
}
