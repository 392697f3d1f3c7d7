// Package testenv says what a test needs of the machine: it skips where that is
// missing, and fails in CI, where nothing skips.
package testenv

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// NeedsProgram ends the test where one of the programs is not on PATH.
func NeedsProgram(t testing.TB, programs ...string) {
	t.Helper()
	for _, program := range programs {
		_, err := exec.LookPath(program)
		if err != nil && program == "pytest" {
			_, err = exec.LookPath("pytest-3") // Debian's name of it; it runs as python3 -m pytest
		}
		if err != nil {
			missing(t, program+" is not installed; .ci/run installs it")
		}
	}
}

// NeedsBuilt puts a program on PATH that a script of internal/e2e has made: variable is
// where .ci/run says where it is, the program's file or its directory.
// A program that is on PATH already does too.
func NeedsBuilt(t testing.TB, program, variable string) {
	t.Helper()
	if at := os.Getenv(variable); at != "" {
		if info, err := os.Stat(at); err == nil && !info.IsDir() {
			at = filepath.Dir(at)
		}
		t.Setenv("PATH", at+string(os.PathListSeparator)+os.Getenv("PATH"))
	}
	if _, err := exec.LookPath(program); err != nil {
		missing(t, program+" is not installed; set "+variable+" as .ci/run does")
	}
}

// NeedsVariable is what a script of internal/e2e printed, which .ci/run puts into the
// environment: script is its path below internal/e2e, with arguments.
func NeedsVariable(t testing.TB, variable, script string) string {
	t.Helper()
	value := os.Getenv(variable)
	if value == "" {
		missing(t, fmt.Sprintf("%[1]s is not set; %[1]s=$(internal/e2e/%[2]s) installs what it names, which can take minutes the first time", variable, script))
	}
	return value
}

func missing(t testing.TB, why string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatal(why)
	}
	t.Skip(why)
}
