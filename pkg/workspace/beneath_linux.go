package workspace

import "golang.org/x/sys/unix"

// placeOnly opens a file for its place in the tree: it asks for no right to read
// and waits for nothing.
const placeOnly = unix.O_PATH

// changeTime is when the kernel last noted a change, in nanoseconds.
func changeTime(st *unix.Stat_t) int64 { return st.Ctim.Nano() }
