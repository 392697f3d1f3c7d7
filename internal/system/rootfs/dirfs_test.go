package rootfs_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
	"github.com/adroit-run/adroit/internal/system/rootfs"
)

// For any name, reading it returns a file below the directory or an error, and waits for nobody.
func TestDirFS(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	dir := filepath.Join(top, "work")
	dirtest.Write(t, filepath.Join(top, "secret", "key.md"), "hunter2")
	dirtest.Write(t, filepath.Join(dir, "plain.md"), "inside")
	for name, to := range map[string]string{
		"out.md": "../secret/key.md", "absolute.md": filepath.Join(top, "secret", "key.md"), "folder": "../../../pkg/guard/secret", "chain.md": "out.md",
		"in.md": "plain.md", "round.md": "round.md", "gone.md": "nowhere",
	} {
		dirtest.Must(t, os.Symlink(to, filepath.Join(dir, name)))
	}
	dirtest.Must(t, syscall.Mkfifo(filepath.Join(dir, "pipe.md"), 0o600))
	dirtest.Must(t, os.Mkdir(filepath.Join(dir, "sub"), 0o755))
	dirtest.Must(t, os.Symlink("../plain.md", filepath.Join(dir, "sub", "up.md")))

	const outside = "leads outside the workspace"
	for name, want := range map[string]string{ // of the content or the error
		"plain.md": "inside", "in.md": "inside", "sub/up.md": "inside",
		"out.md": outside, "absolute.md": outside, "chain.md": outside, "folder/key.md": outside, "folder": outside,
		"pipe.md": "is not a file", "gone.md": "no such file", "round.md": "too many levels", "none.md": "no such file",
		"../secret/key.md": "invalid argument", "": "invalid argument",
	} {
		b, err := fs.ReadFile(rootfs.DirFS(dir), name)
		got := string(b)
		if err != nil {
			got = err.Error()
			if !strings.Contains(got, name) {
				t.Errorf("the error does not name %s: %v", name, err)
			}
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if _, err := fs.ReadFile(rootfs.DirFS(dir), "none.md"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	if _, err := fs.ReadDir(rootfs.DirFS(filepath.Join(top, "none")), "."); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a directory that is not there: %v", err)
	}
}
