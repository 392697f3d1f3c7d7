//go:build unix && !linux

package rootfs

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// SyncFS asks for everything to be made durable.
func SyncFS(string) error {
	unix.Sync()
	return nil
}

// Ctime returns 0: these systems name the field differently, and the other fields of a stamp have
// to do.
func Ctime(*syscall.Stat_t) int64 { return 0 }
