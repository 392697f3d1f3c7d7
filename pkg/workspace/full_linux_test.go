package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// Conformance 10, on a file system of 256 KiB.
func TestDiskFull(t *testing.T) {
	base := t.TempDir()
	if err := unix.Mount("tmpfs", base, "tmpfs", 0, "size=256k"); err != nil {
		t.Skipf("a small file system cannot be mounted here: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(base, unix.MNT_DETACH) })
	led, err := OpenLedger(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer led.Close()
	f, err := Open(base, led)
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
	if got := content(t, filepath.Join(base, "f")); got != "old" {
		t.Errorf("the file has %d bytes, want the old content", len(got))
	}
	if names, _ := os.ReadDir(base); len(names) != 1 {
		t.Errorf("left behind: %v", names)
	}
	if err := f.WriteFile("f", []byte("next")); err != nil {
		t.Errorf("the next write: %v", err)
	}
	cs, _ := led.Changes()
	if len(cs) != 1 || cs[0].After != digest([]byte("next")) {
		t.Errorf("the ledger has %+v", cs)
	}
}
