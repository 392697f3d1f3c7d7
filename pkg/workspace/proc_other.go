//go:build unix && !linux

package workspace

import (
	"syscall"
	"time"
)

// session makes a command a session of its own.
func session() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// awaitExit returns when the child has ended, without reaping it. There is no
// portable way to wait for that, so it looks every few milliseconds: a dead
// child that nobody reaped is in no group that takes a signal.
func awaitExit(pid int) {
	for syscall.Kill(-pid, 0) == nil {
		time.Sleep(5 * time.Millisecond)
	}
}

// killTagged needs /proc.
func killTagged(string) {}
