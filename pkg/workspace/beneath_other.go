//go:build unix && !linux

package workspace

import "golang.org/x/sys/unix"

// placeOnly opens a file for its place in the tree and waits for nothing.
const placeOnly = unix.O_RDONLY | unix.O_NONBLOCK

// changeTime is not spelled alike on these systems: 0 means that it is not known.
func changeTime(*unix.Stat_t) int64 { return 0 }
