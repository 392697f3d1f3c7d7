package rootfs

import "golang.org/x/sys/unix"

// PathOnly opens a file for its place in the tree: it asks for no right to read
// and waits for nothing.
const PathOnly = unix.O_PATH

// ChangeTime is when the kernel last noted a change, in nanoseconds.
func ChangeTime(st *unix.Stat_t) int64 { return st.Ctim.Nano() }
