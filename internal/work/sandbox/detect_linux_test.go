//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

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
	if fullTries != 7 {
		t.Errorf("%d tries, want 6 in vain and one that is kept", fullTries)
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
