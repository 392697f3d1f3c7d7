package sqlite

import (
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/adroit-run/adroit/internal/system/lock"
)

func machine() clock {
	c := clock{now: time.Now, up: func() time.Duration { return 0 }, gone: lock.Gone}
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
