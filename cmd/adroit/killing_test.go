package main

import (
	"fmt"
	"syscall"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/testenv"
)

// A killing kills adroit at its points, a sample of them (see points), each time in
// another place, and resumes the job. Point by point it ends as one that was not killed.
type killing struct {
	every, least int               // one point of so many; the last has to be so many
	files        map[string]string // of the place
	before       func(p *place)    // what is done there first; nil is nothing
	args         []string          // of what is killed
	code         int               // it ends with, at last
	after        func(p *place)    // what happens between the kill and resuming; nil is nothing
}

// test calls check for the results of each killed job, and of one that was not killed.
// out is the output that ended the job, at names the point.
func (k killing) test(t *testing.T, check func(p *place, at, out string)) {
	t.Helper()
	testenv.Long(t, "starts some hundred processes")
	bin := program(t)
	last, _ := points(t, k.every, func(n int) bool {
		p, at := newPlace(t, k.files), fmt.Sprintf("point %d", n)
		p.bin = bin
		if k.before != nil {
			k.before(p)
		}
		killed, out := p.kill(n, k.code, k.args...)
		if killed {
			if k.after != nil {
				k.after(p)
			}
			var code int
			if code, out = p.run("continue", "last"); code != k.code {
				t.Errorf("%s: resume: exit code %d, want %d\n%s", at, code, k.code, out)
				return true
			}
		}
		check(p, at, out)
		return killed
	})
	if last < k.least {
		t.Errorf("the last point was %d; it cannot have been killed everywhere", last)
	}
}

// kill runs adroit up to its point n; where it ends before, it has to end with code.
func (p *place) kill(n, code int, args ...string) (killed bool, out string) {
	p.t.Helper()
	env := p.env
	p.env = append(p.env[:len(p.env):len(p.env)], fmt.Sprintf("ADROIT_KILL_AT=%d", n))
	got, out := p.run(args...)
	p.env = env
	if killed = got == -int(syscall.SIGKILL); !killed && got != code {
		p.t.Fatalf("point %d of %s: exit code %d, want %d\n%s", n, args, got, code, out)
	}
	return killed, out
}
