package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/adroit-run/adroit/internal/dev/testenv"
)

const continueTurns = `turns:
  - calls: [{name: write_file, args: {path: a.txt, content: "a\n"}}]
  - text: "Wrote it.\nDONE"
  - calls: [{name: write_file, args: {path: b.txt, content: "b\n"}}]
  - text: "More.\nDONE"
`

var continueFiles = map[string]string{"turns.yaml": continueTurns, "home/.config/adroit/agents/hand.md": "---\nname: hand\ndescription: Does it.\ntools: [write_file]\ndone: {signal: DONE}\n---\nDo it.\n"}

// begin runs a job to its end that is to go on.
func (p *place) begin() {
	p.t.Helper()
	p.ok(0, "run", "hand", "write a", "-m", "script:"+p.path("turns.yaml"), "--approve", "all", "--sandbox", "off")
}

func (p *place) ok(want int, args ...string) string {
	p.t.Helper()
	code, out := p.run(args...)
	if code != want {
		p.t.Fatalf("%s: exit code %d, want %d\n%s", args, code, want, out)
	}
	return out
}

// TestKillAtContinue kills a job that goes on with a message at points of its run.
// The message reaches the model once, and both parts of the job are one.
func TestKillAtContinue(t *testing.T) {
	t.Parallel()
	killing{every: 4, least: 10, files: continueFiles, before: (*place).begin, args: []string{"continue", "also write b"}}.test(t, func(p *place, at, _ string) {
		checkContinued(t, p, at, 1)
	})
}

// TestKillWhileContinuing kills adroit continue at 48 moments (a sample of them) of
// the time that it takes, so that some kills meet the moment in which it accepts the
// message. What it has accepted is there once; what it has not may be there once, and
// not twice.
func TestKillWhileContinuing(t *testing.T) {
	testenv.Long(t, "starts some hundred processes")
	t.Parallel()
	bin := program(t)
	fresh := func() *place {
		p := newPlace(t, continueFiles)
		p.bin = bin
		p.begin()
		return p
	}
	whole := fresh()
	begin := time.Now()
	whole.ok(0, "continue", "also write b")
	took := time.Since(begin)
	const moments = 48
	first, step := sample(t, 4)
	early := 0
	for n := first; n < moments; n += step {
		p := fresh()
		cmd, out := p.command("continue", "also write b")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		after := took * time.Duration(n+1) / moments
		time.Sleep(after)
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it may have ended before
		accepted := strings.Contains(out.String(), "job J")
		done := strings.Contains(p.ok(0, "jobs"), "  done  ")
		switch {
		case !done:
			p.ok(0, "continue", "last")
		case !strings.Contains(p.ok(0, "jobs", "transcript", "last"), "also write b"):
			if early++; accepted {
				t.Errorf("killed after %s: the message was accepted and is gone\n%s", after, out)
			}
			p.ok(0, "continue", "also write b")
		}
		checkContinued(t, p, fmt.Sprintf("killed after %s", after), 1)
	}
	t.Logf("killed %d times before the message was accepted", early)
}

// checkContinued checks that the model was given the message so many times, and
// that undo takes back both parts of the job.
func checkContinued(t *testing.T, p *place, when string, want int) {
	t.Helper()
	if n := strings.Count(p.ok(0, "jobs", "transcript", "last"), "also write b"); n != want {
		t.Errorf("%s: the model was given the message %d times, want %d", when, n, want)
	}
	if p.read("repo/a.txt") != "a\n" || p.read("repo/b.txt") != "b\n" {
		t.Errorf("%s: the files are %q and %q", when, p.read("repo/a.txt"), p.read("repo/b.txt"))
	}
	p.ok(0, "jobs", "undo", "last")
	if p.read("repo/a.txt") != "" || p.read("repo/b.txt") != "" {
		t.Errorf("%s: undo leaves %q and %q", when, p.read("repo/a.txt"), p.read("repo/b.txt"))
	}
}
