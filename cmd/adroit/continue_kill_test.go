package main

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"
)

const continueTurns = `turns:
  - calls: [{name: write_file, args: {path: a.txt, content: "a\n"}}]
  - text: "Wrote it.\nDONE"
  - calls: [{name: write_file, args: {path: b.txt, content: "b\n"}}]
  - text: "More.\nDONE"
`

// continuePlace has a done job that is to go on.
func continuePlace(t *testing.T, bin string) *place {
	t.Helper()
	p := newPlace(t, map[string]string{"turns.yaml": continueTurns, "home/.config/adroit/agents/hand.md": "---\nname: hand\ndescription: Does it.\ntools: [write_file]\ndone: {signal: DONE}\n---\nDo it.\n"})
	p.bin = bin
	p.ok(0, "run", "hand", "write a", "-m", "script:"+p.path("turns.yaml"), "--approve", "all", "--sandbox", "off")
	return p
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
	if testing.Short() {
		t.Skip("starts some hundred processes; run it without -short")
	}
	t.Parallel()
	bin := program(t)
	last, _ := points(t, 4, func(n int) bool {
		p := continuePlace(t, bin)
		env := p.env
		p.env = append(p.env[:len(p.env):len(p.env)], fmt.Sprintf("ADROIT_KILL_AT=%d", n))
		code, out := p.run("continue", "also write b")
		p.env = env
		killed := code == -int(syscall.SIGKILL)
		if !killed && code != 0 {
			t.Fatalf("point %d: exit code %d\n%s", n, code, out)
		}
		if killed {
			p.ok(0, "jobs", "resume", "last")
		}
		checkContinued(t, p, fmt.Sprintf("point %d", n), 1)
		return killed
	})
	if last < 10 {
		t.Errorf("the last point was %d; it cannot have been killed everywhere", last)
	}
}

// TestKillWhileContinuing kills adroit continue at 48 moments (a sample of them) of
// the time that it takes, so that some kills meet the moment in which it accepts the
// message. What it has accepted is there once; what it has not may be there once, and
// not twice.
func TestKillWhileContinuing(t *testing.T) {
	if testing.Short() {
		t.Skip("starts some hundred processes; run it without -short")
	}
	t.Parallel()
	bin := program(t)
	whole := continuePlace(t, bin)
	begin := time.Now()
	whole.ok(0, "continue", "also write b")
	took := time.Since(begin)
	const moments = 48
	first, step := sample(t, 4)
	early := 0
	for n := first; n < moments; n += step {
		p := continuePlace(t, bin)
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
			p.ok(0, "jobs", "resume", "last")
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
