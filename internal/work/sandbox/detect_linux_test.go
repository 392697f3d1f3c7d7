//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/adroit-run/adroit/internal/system/exhaustion"
)

// A host that has run out of something has not answered: no lesser level is taken, none
// is refused for good, and with room again the best one is found.
func TestShortageIsNoAnswer(t *testing.T) {
	before := tried
	defer func() { tried = before }()
	var full error
	fullTries, lesserTries := 0, 0
	lesser := &trial{attempt: func() error { lesserTries++; return nil }}
	tried = map[Level]*trial{Full: {attempt: func() error { fullTries++; return full }}, Bubblewrap: lesser, Landlock: lesser}

	for _, err := range []error{
		fmt.Errorf("starting the helper: %w", &os.PathError{Op: "open", Path: "/dev/null", Err: syscall.EMFILE}),
		&os.PathError{Op: "fork/exec", Path: "/bin/sh", Err: syscall.EAGAIN},
		syscall.ENOMEM,
		noRoom{&os.PathError{Op: "write", Path: "/tmp/adroit-probe-1/room", Err: syscall.ENOSPC}},
	} {
		full = err
		for _, asked := range []Level{Auto, Full} {
			r := Choose(asked)
			if got := r.Err(); r.Level != "" || exhaustion.Of(got) != exhaustion.Of(err) || errors.Is(got, ErrRefused) {
				t.Errorf("%s with %v: level %q, %v", asked, err, r.Level, got)
			}
		}
	}
	if lesserTries > 0 {
		t.Errorf("%d lesser levels were tried", lesserTries)
	}
	full = nil
	for range 2 {
		if r := Choose(Auto); r.Level != Full || r.Err() != nil {
			t.Errorf("with room again: level %q, %v", r.Level, r.Err())
		}
	}
	if fullTries != 9 {
		t.Errorf("%d tries, want 8 in vain and one that is kept", fullTries)
	}

	// A system that allows no namespaces reports ENOSPC: that is an answer.
	tried = map[Level]*trial{Full: {attempt: func() error { return syscall.ENOSPC }}, Bubblewrap: lesser}
	if r := Choose(Auto); r.Level != Bubblewrap {
		t.Errorf("without namespaces: level %q, %v", r.Level, r.Err())
	}
}

// Without a directory for temporary files no level is available, and the help names the directory
// to make.
func TestHelpWithoutTemporaryFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "none")
	t.Setenv("TMPDIR", dir)
	for _, l := range []Level{Full, Bubblewrap, Landlock} {
		if got := help(l); !strings.Contains(got, "make the directory "+dir) {
			t.Errorf("%s: %s", l, got)
		}
	}
}

// The directory of a probe that was killed goes with a later probe; one that may be in use, a link and what has
// another name stay.
func TestStaleProbes(t *testing.T) {
	tmp, old := t.TempDir(), time.Now().Add(-2*staleProbe)
	for name, aged := range map[string]bool{probePrefix + "1": true, probePrefix + "2": false, "another-1": true} {
		if err := os.MkdirAll(filepath.Join(tmp, name, "ws"), 0o700); err != nil {
			t.Fatal(err)
		}
		if aged {
			if err := os.Chtimes(filepath.Join(tmp, name), old, old); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.Symlink(filepath.Join(tmp, "another-1"), filepath.Join(tmp, probePrefix+"link")); err != nil {
		t.Fatal(err)
	}
	removeStaleProbes(tmp)
	left, err := os.ReadDir(tmp)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range left {
		names = append(names, e.Name())
	}
	if want := []string{probePrefix + "2", probePrefix + "link", "another-1"}; !slices.Equal(names, want) {
		t.Errorf("left: %v, want %v", names, want)
	}
	if _, err := os.Stat(filepath.Join(tmp, "another-1/ws")); err != nil {
		t.Error(err)
	}
}
