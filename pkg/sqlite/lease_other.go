//go:build !linux

package sqlite

import (
	"os"
	"runtime"
	"syscall"
	"time"
)

// machine knows no boot clock here: leases go by the wall clock.
func machine() clock {
	return clock{now: time.Now, up: func() time.Duration { return 0 }, gone: gone}
}

func started(int) string { return "" }

func space() string { return "" }

// exists errs on the side of a living process: its lease ends by itself.
func exists(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return runtime.GOOS != "windows"
	}
	if runtime.GOOS == "windows" {
		return true
	}
	return p.Signal(syscall.Signal(0)) != os.ErrProcessDone
}
