//go:build linux && (amd64 || arm64)

package sandbox

import (
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// overlayMount makes an overlay of upper over lower that is mounted nowhere.
// Paths that the option string would split are the caller's to refuse.
func overlayMount(lower, upper, work string) (int, error) {
	fs, err := unix.Fsopen("overlay", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, err
	}
	defer unix.Close(fs)
	for _, o := range [][2]string{{"lowerdir", lower}, {"upperdir", upper}, {"workdir", work}} {
		if err := unix.FsconfigSetString(fs, o[0], o[1]); err != nil {
			return -1, err
		}
	}
	if err := unix.FsconfigSetFlag(fs, "userxattr"); err != nil {
		return -1, err
	}
	if err := unix.FsconfigCreate(fs); err != nil {
		return -1, err
	}
	return unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV)
}

func fdName(fd int) string { return fmt.Sprintf("/proc/self/fd/%d", fd) }

// holdCollect takes a shared lock on the directory of the overlay for the life of this process,
// which is the first of the command's namespace: a process that gets the exclusive lock knows that
// nothing writes to the overlay any more.
func holdCollect(dir string) error {
	fd, err := unix.Open(filepath.Join(dir, "lock"), unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if err == nil {
		err = unix.Flock(fd, unix.LOCK_SH|unix.LOCK_NB)
	}
	if err != nil {
		return fmt.Errorf("locking the overlay: %w", err)
	}
	return nil
}
