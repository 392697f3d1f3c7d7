package main

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// points has a job killed at its points, counted from 1, until kill reports
// that the job ended without: its point came too late. It gives the number of
// the last point and how often it killed.
//
// It takes one point of so many. Which, comes from ADROIT_KILL_SEED or the
// commit, so that all have their turn; with ADROIT_KILL_POINTS=all, as make kill
// has it, it takes each.
func points(t *testing.T, every int, kill func(n int) bool) (last, killed int) {
	t.Helper()
	first, step := 1+int(seed(t)%uint64(every)), every
	switch v := os.Getenv("ADROIT_KILL_POINTS"); v {
	case "all":
		first, step = 1, 1
	case "":
		t.Logf("kills at one point of %d, from %d on; make kill has all of them, ADROIT_KILL_SEED=%d these", every, first, first-1)
	default:
		t.Fatalf("ADROIT_KILL_POINTS is %q; it can be all, or not set", v)
	}
	for n := first; kill(n); n += step {
		last, killed = n, killed+1
	}
	t.Logf("killed at %d points, last at %d", killed, last)
	return last, killed
}

// seed is ADROIT_KILL_SEED, or made of the commit, or 0 where there is none.
func seed(t *testing.T) uint64 {
	t.Helper()
	if v := os.Getenv("ADROIT_KILL_SEED"); v != "" {
		n, err := strconv.ParseUint(v, 10, 64)
		if err != nil {
			t.Fatalf("ADROIT_KILL_SEED: %v", err)
		}
		return n
	}
	out, err := exec.Command("git", "rev-parse", "HEAD").Output()
	if err != nil || len(out) < 8 {
		return 0
	}
	n, err := strconv.ParseUint(string(out[:8]), 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// programs are what tests run that cannot run the test binary. Each is built
// once, and without -race: what is under test is what reaches the disk.
type programs struct {
	mu   sync.Mutex
	dir  string
	made map[string]string // by its tags
}

var built programs

// program is the path of the program with tags.
func (b *programs) program(t *testing.T, tags string) string {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if bin, ok := b.made[tags]; ok {
		return bin
	}
	if b.dir == "" {
		dir, err := os.MkdirTemp("", "adroit-built-")
		if err != nil {
			t.Fatal(err)
		}
		b.dir, b.made = dir, map[string]string{}
	}
	// Some tests look for the program by its name.
	bin := filepath.Join(b.dir, "with-"+strings.ReplaceAll(tags, ",", "-"), "adroit")
	if out, err := exec.Command("go", "build", "-tags", tags, "-o", bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("building: %v\n%s", err, out)
	}
	b.made[tags] = bin
	return bin
}

// A tidy run of tests selects those for the race detector where it is on, and
// takes away what was built.
type tidy struct{ *testing.M }

func (m tidy) Run() int {
	flag.Parse()
	if run := flag.Lookup("test.run"); raced != "" && run.Value.String() == "" {
		if err := run.Value.Set(raced); err != nil {
			panic(err) // the flag takes every string
		}
	}
	code := m.M.Run()
	if built.dir != "" {
		_ = os.RemoveAll(built.dir)
	}
	return code
}
