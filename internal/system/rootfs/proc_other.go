//go:build unix && !linux

package rootfs

import (
	"syscall"
	"time"
)

// SessionAttr makes a command a session of its own.
func SessionAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// AwaitExit returns when the child has ended, without reaping it. There is no portable way to wait
// for that, so it polls every few milliseconds: a child that is dead but not reaped is in no group
// that takes a signal.
func AwaitExit(pid int) {
	for syscall.Kill(-pid, 0) == nil {
		time.Sleep(5 * time.Millisecond)
	}
}

// KillTagged needs /proc.
func KillTagged(string) {}
