package process

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/work/ledger"
	"github.com/adroit-run/adroit/internal/work/overlay"
	"github.com/adroit-run/adroit/pkg/workspace"
)

// Conformance 10, on a file system of 256 KiB.
func TestDiskFull(t *testing.T) {
	base := t.TempDir()
	if err := unix.Mount("tmpfs", base, "tmpfs", 0, "size=256k"); err != nil {
		t.Skipf("a small file system cannot be mounted here: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(base, unix.MNT_DETACH) })
	led, err := ledger.Open(t.TempDir(), overlay.Recover)
	if err != nil {
		t.Fatal(err)
	}
	defer led.Close()
	f, err := workspace.Open(base, led)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.WriteFile("f", []byte("old")); err != nil {
		t.Fatal(err)
	}
	err = f.WriteFile("f", make([]byte, 1<<20))
	if !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("WriteFile = %v, want no space", err)
	}
	if got := dirtest.Content(t, filepath.Join(base, "f")); got != "old" {
		t.Errorf("the file has %d bytes, want the old content", len(got))
	}
	if names, _ := os.ReadDir(base); len(names) != 1 {
		t.Errorf("left behind: %v", names)
	}
	if err := f.WriteFile("f", []byte("next")); err != nil {
		t.Errorf("the next write: %v", err)
	}
	cs, _ := led.Changes(t.Context())
	if len(cs) != 1 || cs[0].After != rootfs.Digest([]byte("next")) {
		t.Errorf("the ledger has %+v", cs)
	}
}

// An undo works on a full disk: it has a reserve for its records.
func TestUndoOnAFullDisk(t *testing.T) {
	base := t.TempDir()
	if err := unix.Mount("tmpfs", base, "tmpfs", 0, "size=3m"); err != nil {
		t.Skipf("a small file system cannot be mounted here: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(base, unix.MNT_DETACH) })
	dir := filepath.Join(base, "ws")
	dirtest.Must(t, os.Mkdir(dir, 0o755))
	led, err := ledger.Open(filepath.Join(base, "ledger"), overlay.Recover)
	dirtest.Must(t, err)
	defer led.Close()
	dirtest.Must(t, led.Share(filepath.Join(base, "content")))
	f, err := workspace.Open(dir, led)
	dirtest.Must(t, err)
	defer f.Close()
	dirtest.Write(t, filepath.Join(dir, "f"), "old\n")
	dirtest.Must(t, f.WriteFile("f", []byte("new\n")))
	dirtest.Must(t, f.WriteFile("made", []byte("made\n")))
	if err := os.WriteFile(filepath.Join(dir, "filler"), make([]byte, 3<<20), 0o644); err == nil {
		t.Fatal("the disk is not full")
	}
	report, err := led.Undo(t.Context(), dir)
	if err != nil || len(report.Skipped) > 0 || dirtest.Content(t, filepath.Join(dir, "f")) != "old\n" {
		t.Errorf("%+v, %v", report, err)
	}
}
