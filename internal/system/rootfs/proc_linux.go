package rootfs

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// SessionAttr makes a command a session of its own that dies with our thread.
func SessionAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// AwaitExit returns when the child has ended, without reaping it.
func AwaitExit(pid int) {
	for {
		var info unix.Siginfo
		if err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOWAIT, nil); err != unix.EINTR {
			return
		}
	}
}

// KillTagged kills the processes that have a tag in their environment: processes of a command that
// left its session. One that cleared its environment too is not found; only a sandbox can contain
// that.
func KillTagged(tag string) {
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range files {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil || pid == os.Getpid() {
			continue
		}
		env, err := os.ReadFile(file)
		if err == nil && bytes.Contains(append([]byte{0}, env...), []byte("\x00"+tag+"\x00")) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}
