//go:build !linux

package sqlite

import (
	"time"

	"github.com/adroit-run/adroit/internal/system/lock"
)

// machine has no boot clock here: leases go by the wall clock.
func machine() clock {
	return clock{now: time.Now, up: func() time.Duration { return 0 }, gone: lock.Gone}
}
