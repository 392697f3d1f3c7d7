// Package workspacetest opens workspaces for tests.
package workspacetest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
	"github.com/adroit-run/adroit/internal/work/ledger"
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

// Repository returns files over a repository with one commit of some files, and
// one more that is staged.
func Repository(t testing.TB) (*workspace.Files, *ledger.Ledger, string) {
	t.Helper()
	f, led, dir := Open(t)
	fill(t, dir)
	dirtest.Must(t, os.CopyFS(filepath.Join(dir, ".git"), committed(t)))
	dirtest.Write(t, filepath.Join(dir, "staged.txt"), "staged\n")
	dirtest.Git(t, dir, "add", "-A")
	return f, led, dir
}

func fill(t testing.TB, dir string) {
	t.Helper()
	for i := range 20 {
		dirtest.Write(t, filepath.Join(dir, fmt.Sprintf("d%d/f%d.txt", i%4, i)), fmt.Sprintf("file %d\nline\n", i))
	}
	dirtest.Write(t, filepath.Join(dir, "bin"), "\x00\x01\x02")
	dirtest.Write(t, filepath.Join(dir, "run.sh"), "#!/bin/sh\n")
	dirtest.Must(t, os.Chmod(filepath.Join(dir, "run.sh"), 0o750))
	dirtest.Must(t, os.Symlink("run.sh", filepath.Join(dir, "ln")))
	dirtest.Write(t, filepath.Join(dir, ".gitignore"), "*.log\n")
}

var commit struct {
	sync.Mutex
	files fstest.MapFS
}

// committed returns the .git of a repository with the files that fill writes in a commit. It is
// made once for all tests. It has no index, which records when files were written, and none of the
// sample hooks.
func committed(t testing.TB) fstest.MapFS {
	t.Helper()
	commit.Lock()
	defer commit.Unlock()
	if commit.files != nil {
		return commit.files
	}
	dir := t.TempDir()
	fill(t, dir)
	dirtest.Git(t, dir, "init", "-q", "-b", "main")
	dirtest.Git(t, dir, "add", "-A")
	dirtest.Git(t, dir, "commit", "-qm", "start")
	top, files := os.DirFS(filepath.Join(dir, ".git")), fstest.MapFS{}
	dirtest.Must(t, fs.WalkDir(top, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == "index" || strings.HasSuffix(name, ".sample") {
			return err
		}
		file := &fstest.MapFile{Mode: fs.ModeDir | 0o755}
		if !d.IsDir() {
			file.Mode = 0o644
			file.Data, err = fs.ReadFile(top, name)
		}
		files[name] = file
		return err
	}))
	commit.files = files
	return files
}
