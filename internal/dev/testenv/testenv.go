// Package testenv checks a test's requirements of the machine: it skips the test if one is
// missing, and fails in CI, where nothing may be skipped. It builds adroit for tests that start
// it.
package testenv

import (
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/adroit-run/adroit/internal/system/lock"
)

// NeedsProgram ends the test if one of the programs is not on PATH, or is only a placeholder for a
// program that is not installed.
func NeedsProgram(t testing.TB, programs ...string) {
	t.Helper()
	for _, program := range programs {
		_, err := exec.LookPath(program)
		if err != nil && program == "pytest" {
			_, err = exec.LookPath("pytest-3") // Debian's name of it; it runs as python3 -m pytest
		}
		if err == nil && program == "cargo" {
			err = exec.Command(program, "--version").Run() // rustup puts it on PATH without a toolchain too
		}
		if err != nil {
			Missing(t, program+" is not installed; .ci/run installs it")
		}
	}
}

// Seed returns the seed for a random test and logs it. It is ADROIT_SEED, which CI derives from
// the commit, so that each commit tries other inputs and every machine the same ones; without it,
// one random seed for the process.
func Seed(t testing.TB) uint64 {
	t.Helper()
	seed := drawn()
	if s := os.Getenv("ADROIT_SEED"); s != "" {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatalf("ADROIT_SEED: %v", err)
		}
		seed = n
	}
	t.Logf("ADROIT_SEED=%d", seed)
	return seed
}

// Night reports whether tests that take a sample take everything, as make night has it, which
// sets ADROIT_NIGHT.
func Night() bool { return os.Getenv("ADROIT_NIGHT") != "" }

// Brief reports whether this is go test as a person runs it in a clone: neither CI nor Night nor of
// tests that -run names. It takes a quarter of what takes long.
func Brief() bool { return os.Getenv("CI") == "" && !Night() && named() == "" }

// named returns the pattern of -run.
func named() string {
	if f := flag.Lookup("test.run"); f != nil {
		return f.Value.String()
	}
	return ""
}

// Long skips a test that takes a minute or more with -short and, when the run is Brief, three times
// of four, as the seed draws. why names the slow part.
func Long(t testing.TB, why string) {
	t.Helper()
	if testing.Short() {
		t.Skip(why + "; run it without -short")
	}
	if !Chosen(t, 1, "") {
		t.Skip(why + "; one such test in four is run here, and all in CI")
	}
}

// Sample returns usual, the amount of something random that a test tries, whole at Night, and a
// quarter of usual when the run is Brief.
func Sample(usual, whole int) int {
	switch {
	case Night():
		return whole
	case Brief():
		return max(1, usual/4)
	}
	return usual
}

// Chosen reports whether a case of a long table is in the sample of this run: about one in every,
// a quarter of them when the run is Brief, as the seed draws, and each at Night or where -run names a case.
func Chosen(t testing.TB, every int, name string) bool {
	t.Helper()
	if Night() || strings.Contains(named(), "/") {
		return true
	}
	if Brief() {
		every *= 4
	}
	if every == 1 {
		return true
	}
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%d %s %s", Seed(t), t.Name(), name) // a hash takes all
	return h.Sum64()%uint64(every) == 0
}

var drawn = sync.OnceValue(rand.Uint64)

// NeedsBuilt puts a program on PATH that a script of internal/dev/e2e has made: variable, which
// .ci/run sets, names the program's file or its directory. A program that is already on PATH
// suffices, too.
func NeedsBuilt(t testing.TB, program, variable string) {
	t.Helper()
	if at := os.Getenv(variable); at != "" {
		if info, err := os.Stat(at); err == nil && !info.IsDir() {
			at = filepath.Dir(at)
		}
		t.Setenv("PATH", at+string(os.PathListSeparator)+os.Getenv("PATH"))
	}
	if _, err := exec.LookPath(program); err != nil {
		Missing(t, program+" is not installed; set "+variable+" as .ci/run does")
	}
}

// NeedsVariable returns the output of a script of internal/dev/e2e, which .ci/run puts into the
// environment. script is its path below internal/dev/e2e, with arguments.
func NeedsVariable(t testing.TB, variable, script string) string {
	t.Helper()
	value := os.Getenv(variable)
	if value == "" {
		Missing(t, fmt.Sprintf("%[1]s is not set; %[1]s=$(internal/dev/e2e/%[2]s) installs what it names, which can take minutes the first time", variable, script))
	}
	return value
}

// Adroit builds the program that tests start and returns its path. It is built in dir, or in
// ADROIT_BUILT, which internal/dev/race/test makes for the packages of one run: the first one that
// needs it builds it for all. It has no cgo, as in releases, and the tag failpoints, which changes
// nothing unless ADROIT_KILL_AT is set.
func Adroit(dir string) (string, error) {
	if built := os.Getenv("ADROIT_BUILT"); built != "" {
		dir = built
	}
	unlock, err := lock.Open(filepath.Join(dir, "lock"))
	if err != nil {
		return "", err
	}
	defer unlock()
	bin := filepath.Join(dir, "adroit")
	if _, err := os.Stat(bin); err == nil {
		return bin, nil
	}
	build := exec.Command("go", "build", "-tags", "failpoints", "-ldflags", "-s -w", "-o", bin, "github.com/adroit-run/adroit/cmd/adroit")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building adroit: %w\n%s", err, out)
	}
	return bin, nil
}

func Missing(t testing.TB, why string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatal(why)
	}
	t.Skip(why)
}
