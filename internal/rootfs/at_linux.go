package rootfs

import "golang.org/x/sys/unix"

// PathOnly opens a file for its place in the tree: it asks for no right to read
// and waits for nothing.
const PathOnly = unix.O_PATH

// ChangeTime is when the kernel last noted a change, in nanoseconds.
func ChangeTime(st *unix.Stat_t) int64 { return st.Ctim.Nano() }

// OpenNoLinks opens a clean name below an open directory and follows no link in it.
func OpenNoLinks(root int, rel string, flags int) (int, error) {
	how := unix.OpenHow{Flags: uint64(flags | unix.O_CLOEXEC), Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS}
	if fd, err := unix.Openat2(root, rel, &how); err == nil {
		return fd, nil
	}
	return openParts(root, rel, flags) // it cannot be opened, or the kernel or its filter does not know the call
}
