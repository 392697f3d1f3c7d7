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
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/adroit-run/adroit/internal/hostexec"
	"github.com/adroit-run/adroit/internal/problem"
	_ "github.com/adroit-run/adroit/internal/unixonly"
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

// mostFiles bounds the files that Files returns.
const mostFiles = 20

// Files are the files that an output of a command names which ran in dir, as far as
// they exist: first those below dir, by their names from there, then others, by their
// whole names. It is empty and not nil where there are none.
func Files(dir, output string) []string {
	own, others := []string{}, []string{}
	left := 2000 // names that are looked at
	dir, err := filepath.Abs(dir)
	if err != nil {
		return own
	}
	for _, spellings := range problem.Names(output) {
		for _, name := range spellings {
			if left--; left < 0 {
				break
			}
			at := name
			if !filepath.IsAbs(at) {
				at = filepath.Join(dir, at)
			}
			info, err := os.Stat(at)
			if err != nil || !info.Mode().IsRegular() {
				continue
			}
			rel, err := filepath.Rel(dir, at)
			switch below := err == nil && filepath.IsLocal(rel); {
			case below && !slices.Contains(own, rel):
				own = append(own, rel)
			case !below && !slices.Contains(others, at):
				others = append(others, at)
			}
			break
		}
	}
	all := append(own, others...)
	return all[:min(len(all), mostFiles)]
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
