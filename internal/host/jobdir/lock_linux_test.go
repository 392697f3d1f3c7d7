package jobdir

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// A process that releases a job's files on a full disk has ended in an orderly
// way, and one that is killed has not.
func TestLockOnAFullDisk(t *testing.T) {
	disk := t.TempDir()
	if err := unix.Mount("tmpfs", disk, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("a small file system cannot be mounted here: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(disk, unix.MNT_DETACH) })
	home := filepath.Join(disk, "J1")
	release, clean, err := Lock(home)
	if err != nil {
		t.Fatal(err)
	}
	if clean {
		t.Error("nobody had the lock before, and it counts as released")
	}
	lock, err := os.ReadFile(filepath.Join(home, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(disk, "filler"), make([]byte, 64<<10), 0o600); err == nil {
		t.Fatal("the disk is not full")
	}
	release()
	if release, clean, err = Lock(home); err != nil {
		t.Fatal(err)
	}
	if !clean {
		t.Error("a release on a full disk counts as a crash")
	}
	release()
	// As a killed process leaves it.
	if err := os.WriteFile(filepath.Join(home, "lock"), lock, 0o600); err != nil {
		t.Fatal(err)
	}
	if release, clean, err = Lock(home); err != nil {
		t.Fatal(err)
	}
	if clean {
		t.Error("a killed process counts as one that released the lock")
	}
	release()
}
