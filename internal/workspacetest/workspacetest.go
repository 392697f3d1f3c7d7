// Package workspacetest opens workspaces for tests.
package workspacetest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/adroit-run/adroit/internal/dirtest"
	"github.com/adroit-run/adroit/internal/workspace/ledger"
	"github.com/adroit-run/adroit/pkg/workspace"
)

// Open returns files over a fresh directory with a ledger beside it.
func Open(t testing.TB) (*workspace.Files, *ledger.Ledger, string) {
	t.Helper()
	base := t.TempDir()
	dir := filepath.Join(base, "ws")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	led, err := ledger.Open(filepath.Join(base, "ledger"), nil)
	if err != nil {
		t.Fatal(err)
	}
	f, err := workspace.Open(dir, led)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close(); led.Close() })
	return f, led, f.Dir()
}

// Repository returns files over a repository with one commit of some files.
func Repository(t testing.TB) (*workspace.Files, *ledger.Ledger, string) {
	t.Helper()
	f, led, dir := Open(t)
	for i := range 20 {
		dirtest.Write(t, filepath.Join(dir, fmt.Sprintf("d%d/f%d.txt", i%4, i)), fmt.Sprintf("file %d\nline\n", i))
	}
	dirtest.Write(t, filepath.Join(dir, "bin"), "\x00\x01\x02")
	dirtest.Write(t, filepath.Join(dir, "run.sh"), "#!/bin/sh\n")
	if err := os.Chmod(filepath.Join(dir, "run.sh"), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("run.sh", filepath.Join(dir, "ln")); err != nil {
		t.Fatal(err)
	}
	dirtest.Write(t, filepath.Join(dir, ".gitignore"), "*.log\n")
	dirtest.Git(t, dir, "init", "-q", "-b", "main")
	dirtest.Git(t, dir, "add", "-A")
	dirtest.Git(t, dir, "commit", "-qm", "start")
	dirtest.Write(t, filepath.Join(dir, "staged.txt"), "staged\n")
	dirtest.Git(t, dir, "add", "staged.txt")
	return f, led, dir
}
