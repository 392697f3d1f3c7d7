package rootfs

import (
	"os"

	"golang.org/x/sys/unix"
)

// RemoveAll removes a tree that commands made, such as Confine.Private, although
// some of its directories may not be writable: those of Go's module cache are
// not, nor those in which the kernel keeps an overlay's work. It follows no link
// below dir.
func RemoveAll(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	if fd, err := unix.Open(dir, PathOnly|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0); err == nil {
		unlock(fd)
		unix.Close(fd)
	}
	return os.RemoveAll(dir)
}

// unlock gives us all rights to the directories of a tree.
func unlock(dir int) {
	_ = ChmodFile(dir, 0o700)
	EachDir(dir, ".", func(sub int, _ string) { unlock(sub) })
}
