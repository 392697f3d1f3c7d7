package main

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// What the packages of this module may allocate before main, in bytes and in
// objects: about twice what they do. Every command pays for it, and so does
// each confined command, since the sandbox helper is this program run again.
// Expressions and schemas are compiled at first use; see internal/text/lazyregexp
// and tools.New.
const (
	maxInitBytes  = 292 << 10
	maxInitAllocs = 4000
)

// maxInitTotal bounds the packages of others as well, so that a new dependency
// with an expensive init is noticed. Of 1.65 MB, 0.5 are of goldmark, 0.26 of
// go-readability, 0.13 of golang.org/x/net/html.
const maxInitTotal = 2_000_000

// TestInit counts instead of measuring time. It runs the program that the
// scripts run, this test binary under another name.
func TestInit(t *testing.T) {
	bin, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(bin)
	cmd.Args = []string{"adroit", "version"}
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1", "ADROIT_HOME="+t.TempDir())
	var trace strings.Builder
	cmd.Stderr = &trace
	out, err := cmd.Output()
	if err != nil || !strings.HasPrefix(string(out), "adroit ") {
		t.Fatalf("adroit version: %v, %q", err, out)
	}
	packages := inits(trace.String())
	total, ours := initCost{}, initCost{}
	for _, p := range packages {
		total.add(p)
		if strings.HasPrefix(p.name, "github.com/adroit-run/adroit/") {
			ours.add(p)
		}
	}
	if len(packages) < 50 || ours.bytes == 0 || total.bytes < 500_000 {
		t.Fatalf("%d packages with %d bytes in all: is this the trace of the program?\n%.2000s", len(packages), total.bytes, trace.String())
	}
	slices.SortFunc(packages, func(a, b initCost) int { return cmp.Compare(b.bytes, a.bytes) })
	largest := packages[:12]
	if ours.bytes > maxInitBytes || ours.allocs > maxInitAllocs {
		t.Errorf("the packages of this module allocate %d bytes in %d objects before main, want at most %d in %d; the largest of all:\n%v",
			ours.bytes, ours.allocs, maxInitBytes, maxInitAllocs, largest)
	}
	if total.bytes > maxInitTotal {
		t.Errorf("all packages allocate %d bytes before main, want at most %d; the largest:\n%v", total.bytes, maxInitTotal, largest)
	}
	t.Logf("before main: %d bytes in %d objects, %d in %d by this module", total.bytes, total.allocs, ours.bytes, ours.allocs)
}

// A command that ends soon collects no garbage.
func TestCollectLater(t *testing.T) {
	bin, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for gogc, want := range map[string]bool{"": false, "100": true} {
		cmd := exec.Command(bin)
		cmd.Args = []string{"adroit", "agents", "lint"}
		cmd.Env = append(os.Environ(), "GODEBUG=gctrace=1", "GOGC="+gogc, "ADROIT_HOME="+t.TempDir())
		out, err := cmd.CombinedOutput()
		if got := strings.Contains(string(out), "gc 1 @"); err != nil || got != want {
			t.Errorf("GOGC=%s: garbage was collected: %v, %v\n%s", gogc, got, err, out)
		}
	}
}

// An initCost is the memory that the initialization of a package allocates.
type initCost struct {
	name          string
	bytes, allocs int
}

func (c *initCost) add(d initCost) { c.bytes, c.allocs = c.bytes+d.bytes, c.allocs+d.allocs }

func (c initCost) String() string {
	return fmt.Sprintf("\n%9d bytes %6d objects  %s", c.bytes, c.allocs, c.name)
}

var initLine = regexp.MustCompile(`(?m)^init (\S+) @.*, (\d+) bytes, (\d+) allocs$`)

// inits reads what GODEBUG=inittrace=1 writes, without the packages that only
// test binaries have.
func inits(trace string) []initCost {
	var list []initCost
	for _, m := range initLine.FindAllStringSubmatch(trace, -1) {
		if name := m[1]; name == "main" || strings.HasSuffix(name, "/cmd/adroit") || strings.Contains(name, "testing") || strings.Contains(name, "testscript") {
			continue
		}
		c := initCost{name: m[1]}
		c.bytes, _ = strconv.Atoi(m[2])  // digits
		c.allocs, _ = strconv.Atoi(m[3]) // digits
		list = append(list, c)
	}
	return list
}
