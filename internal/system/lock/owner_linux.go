package lock

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// started distinguishes a process from another that had the same pid: the tick it was
// started at and the pid namespace.
func started(pid int) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "@" + space()
	}
	// The command's name is in parentheses and may contain anything.
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(fields) < 20 || string(fields[0]) == "Z" {
		return "@" + space()
	}
	return string(fields[19]) + "@" + space()
}

// space names the pid namespace.
func space() string {
	s, _ := os.Readlink("/proc/self/ns/pid")
	return strings.Trim(strings.TrimPrefix(s, "pid:"), "[]")
}

func exists(pid int) bool { return !errors.Is(unix.Kill(pid, 0), unix.ESRCH) }
