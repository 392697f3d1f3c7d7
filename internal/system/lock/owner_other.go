//go:build !linux

package lock

import (
	"os"
	"runtime"
	"syscall"
)

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
