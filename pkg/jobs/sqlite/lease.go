package sqlite

import (
	"time"

	"github.com/adroit-run/adroit/pkg/jobs"
)

// Leases are measured with the machine's boot clock, which nobody can set: a
// wall clock that jumps neither ends nor prolongs one. The wall clock counts
// only for a lease from another boot, and then with this tolerance.
const tolerance = 5 * time.Second

// A clock is what leases need to know of the machine.
type clock struct {
	now  func() time.Time
	boot string               // names the boot; empty if unknown
	up   func() time.Duration // since boot, suspension included
	// gone reports that owner's process certainly does not run any more.
	gone func(owner string) bool
}

// A row is a job with what the store alone knows of it.
type row struct {
	jobs.Job
	n     int64
	boot  string
	ticks int64
	seq   int64
}

// dead reports that the job's lease holds nobody off any more.
func (c *clock) dead(r *row) bool {
	if r.Lease.Owner == "" || c.gone(r.Lease.Owner) {
		return true
	}
	if c.boot != "" && r.boot == c.boot {
		return int64(c.up()) > r.ticks
	}
	left := r.Lease.Expires.Sub(c.now())
	// More time left than any lease has: the wall clock was set back.
	return left < -tolerance || left > maxTTL
}

// maxTTL bounds leases, so that a wrong clock cannot make one endless.
const maxTTL = 10 * time.Minute

// until gives the columns expires, boot, ticks of a lease that begins now.
func (c *clock) until(ttl time.Duration) (expires int64, boot string, ticks int64) {
	ttl = min(ttl, maxTTL)
	return c.now().Add(ttl).UnixNano(), c.boot, int64(c.up() + ttl)
}
