package sqlite

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

func machine() clock {
	c := clock{now: time.Now, up: func() time.Duration { return 0 }, gone: gone}
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	var ts unix.Timespec
	if err != nil || unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts) != nil {
		return c
	}
	c.boot = strings.TrimSpace(string(id))
	c.up = func() time.Duration {
		var ts unix.Timespec
		_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts) // it worked above
		return time.Duration(ts.Nano())
	}
	return c
}

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
