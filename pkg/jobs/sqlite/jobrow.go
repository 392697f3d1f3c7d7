package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/pkg/jobs"
)

const columns = `n, id, workflow, agent, title, dir, model, input, key, status, reason, output,
	cancel, crashes, created, started, updated, finished, owner, token, expires, boot, ticks, seq, scope, request, host`

func (r *row) scan(scan func(...any) error) error {
	var created, started, updated, finished, expires int64
	err := scan(&r.n, &r.ID, &r.Workflow, &r.Agent, &r.Title, &r.Dir, &r.Model, (*[]byte)(&r.Input), &r.Key, (*string)(&r.Status),
		&r.Reason, (*[]byte)(&r.Output), &r.Cancel, &r.Crashes, &created, &started, &updated, &finished,
		&r.Lease.Owner, &r.Lease.Token, &expires, &r.boot, &r.ticks, &r.seq, &r.Scope, &r.Request, (*[]byte)(&r.Host))
	r.Created, r.Started, r.Updated, r.Finished = at(created), at(started), at(updated), at(finished)
	r.Lease.Expires = at(expires)
	return err
}

func at(nanos int64) time.Time {
	if nanos == 0 {
		return time.Time{}
	}
	return time.Unix(0, nanos).UTC()
}

func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

// job returns the exported form of a row. A job whose runner is gone is interrupted,
// though nobody was left to record that.
func (d *DB) job(r *row) *jobs.Job {
	j := r.Job
	j.Dir = rootfs.WorktreePath(filepath.Dir(d.path), j.ID, j.Dir)
	if j.Lease.Owner == "" {
		j.Lease = jobs.Lease{}
	} else if (j.Status == jobs.Running || j.Status == jobs.Queued) && d.clock.dead(r) {
		j.Status, j.Lease = jobs.Interrupted, jobs.Lease{}
		if j.Reason == "" {
			j.Reason = "the process died unexpectedly"
		}
	}
	return &j
}

// load gives the row of a job inside of a transaction.
func (t *tx) load(id string) (*row, error) {
	r := new(row)
	err := r.scan(func(to ...any) error {
		return t.one("select "+columns+" from jobs where id = ?", []any{id}, to...)
	})
	return r, missing(id, err)
}

func missing(id string, err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("%s: %w", id, jobs.ErrNotExist)
	}
	return err
}

func (d *DB) peek(ctx context.Context, id string) (*row, error) {
	r := new(row)
	err := r.scan(d.job1.QueryRowContext(ctx, id).Scan)
	return r, explain(d.path, missing(id, err))
}

// fence returns an error unless token holds the job.
func (t *tx) fence(id string, token int64) error {
	t.job = id
	return lost(id, t.one("select seq from jobs where id = ? and token = ? and owner <> ''", []any{id, token}, &t.seq))
}

func lost(id string, err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("%s: %w", id, jobs.ErrLeaseLost)
	}
	return err
}

// tolerance is the error of the wall clock that is tolerated in a lease from another
// boot. Other leases are measured with the machine's boot clock, which nobody can set: a
// wall clock that jumps neither ends nor prolongs one.
const tolerance = 5 * time.Second

// A clock gives leases the machine's time and identity.
type clock struct {
	now  func() time.Time
	boot string               // names the boot; empty if unknown
	up   func() time.Duration // since boot, suspension included
	// gone reports that owner's process certainly does not run any more.
	gone func(owner string) bool
}

// A row is a job with the store's private columns.
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
