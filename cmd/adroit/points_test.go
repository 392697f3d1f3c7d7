package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/testenv"
)

// points has a job killed at its points, counted from 1, until kill reports
// that the job ended without: its point came too late. It gives the most points that the
// job can have, and how often it killed.
//
// It takes one point of four times so many, and at least one. Which, comes from ADROIT_SEED, so that all
// have their turn; make kill takes each.
func points(t *testing.T, every int, kill func(n int) bool) (most, killed int) {
	t.Helper()
	first, step := sample(t, 4*every)
	n := first + 1
	for ; kill(n); n += step {
		killed++
	}
	for most := n; killed == 0 && n > 1; { // the job is shorter than the sample's first point
		if n = (n + 1) / 2; kill(n) {
			killed, n = 1, most
		}
	}
	t.Logf("killed at %d points, not any more at %d", killed, n)
	return n - 1, killed
}

// sample returns the first of the points, counted from 0, and how far it is to the
// next one.
func sample(t *testing.T, every int) (first, step int) {
	t.Helper()
	if testenv.Night() {
		return 0, 1
	}
	first = int(testenv.Seed(t) % uint64(every))
	t.Logf("kills at one point of %d, the first is %d; make kill has all of them", every, first+1)
	return first, every
}

// program returns the program for tests that cannot run the test binary, since they test
// what reaches the disk.
func program(t *testing.T) string {
	t.Helper()
	bin, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return bin
}

var (
	builtIn string // the directory of the program, once there is one
	built   = sync.OnceValues(func() (string, error) {
		dir, err := os.MkdirTemp("", "adroit-built-")
		if err != nil {
			return "", err
		}
		builtIn = dir
		return testenv.Adroit(dir)
	})
)

// A tidy run of tests selects those for the race detector where it is on, and
// takes away what was built.
type tidy struct{ *testing.M }

func (m tidy) Run() int {
	// These tests wait for processes that wait for disks. Two at once for each processor
	// keep it busy; -parallel has the last word.
	if err := flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0))); err != nil {
		panic(err) // the flag takes every number
	}
	flag.Parse()
	all := allScripts() && raced == ""
	if run := flag.Lookup("test.run"); raced != "" && run.Value.String() == "" {
		if err := run.Value.Set(raced); err != nil {
			panic(err) // the flag takes every string
		}
	}
	code := m.M.Run()
	if code == 0 && noCopies() == "" {
		for _, wrong := range unrunHints(all) {
			fmt.Println("FAIL:", wrong)
			code = 1
		}
	}
	if builtIn != "" {
		_ = os.RemoveAll(builtIn)
	}
	return code
}
