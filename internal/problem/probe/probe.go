// Package probe finds out, on the machine where a command failed, what its output
// leaves open: whether a program that it misses is there, whether the disk is full.
//
//	facts := probe.Facts(dir, output)
//	facts["program cmake"] // "not found"
//
// It starts nothing and changes nothing.
package probe

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/adroit-run/adroit/internal/hostexec"
	"github.com/adroit-run/adroit/internal/problem"
)

// NotFound is the fact about a program or file that is not there.
const NotFound = "not found"

// Program is the key of the fact about a program.
func Program(name string) string { return "program " + name }

// Facts states what is so about an output of a command that ran in dir.
func Facts(dir, output string) map[string]string {
	facts := map[string]string{}
	for _, name := range problem.Programs(output) {
		facts[Program(name)] = where(dir, name)
	}
	if lower := strings.ToLower(output); strings.Contains(lower, "no space left") || strings.Contains(lower, "enospc") || strings.Contains(lower, "quota exceeded") {
		for _, d := range []string{dir, os.TempDir()} {
			var st unix.Statfs_t
			if unix.Statfs(d, &st) == nil {
				facts["free in "+d] = fmt.Sprintf("%d MB", uint64(st.Bavail)*uint64(st.Bsize)>>20)
			}
		}
	}
	if len(facts) == 0 {
		return nil
	}
	return facts
}

func where(dir, name string) string {
	if strings.Contains(name, "/") {
		at := name
		if !filepath.IsAbs(at) {
			at = filepath.Join(dir, at)
		}
		if _, err := os.Stat(at); err != nil {
			return NotFound
		}
		return "there"
	}
	at, err := hostexec.InSandbox(name)
	if err != nil {
		return NotFound
	}
	return "at " + at
}
