package sqlite

import (
	"context"
	"time"

	"github.com/adroit-run/adroit/pkg/jobs"
)

// Enqueue implements jobs.Store.
func (d *DB) Enqueue(ctx context.Context, id, owner string, ttl time.Duration) (*jobs.Job, jobs.Journal, error) {
	return d.claim(ctx, id, owner, ttl, jobs.Queued)
}

// heldQuery lists the jobs that somebody has. Its index has no others.
const heldQuery = "select n, id, status, owner, expires, boot, ticks from jobs where owner <> '' order by n"

func appendHeld(to *[]row, scan func(...any) error) error {
	var r row
	var expires int64
	err := scan(&r.n, &r.ID, (*string)(&r.Status), &r.Lease.Owner, &expires, &r.boot, &r.ticks)
	r.Lease.Expires = at(expires)
	*to = append(*to, r)
	return err
}

// position is the place of a queued job among those that somebody has, 0 if it
// may run now. A job whose runner is gone takes no place.
func (c *clock) position(held []row, id string, atOnce int) int {
	running, before := 0, 0
	found := false
	for i := range held {
		r := &held[i]
		if r.ID == id {
			found = true
			continue
		}
		switch {
		case c.dead(r):
		case r.Status == jobs.Running:
			running++
		case r.Status == jobs.Queued && !found:
			before++
		}
	}
	if running+before < atOnce {
		return 0
	}
	return before + 1
}

// Start implements jobs.Journal. It looks first without writing: those that wait
// ask again and again.
func (j *journal) Start(ctx context.Context, atOnce int) (position int, err error) {
	if err := j.fence(ctx); err != nil {
		return 0, err
	}
	if position, err = j.look(ctx, atOnce); err != nil || position > 0 {
		return position, err
	}
	err = j.do(ctx, func(t *tx) error {
		var held []row
		if err := t.each(heldQuery, nil, func(scan func(...any) error) error { return appendHeld(&held, scan) }); err != nil {
			return err
		}
		if position = t.d.clock.position(held, j.job, atOnce); position > 0 {
			return nil // another one was faster
		}
		now := nanos(t.d.clock.now())
		t.notify(j.job)
		_, err := t.exec("update jobs set status = 'running', started = case started when 0 then ?1 else started end, updated = ?1 where id = ?2", now, j.job)
		return err
	})
	return position, err
}

// look is the position of a queued job as it was a moment ago.
func (j *journal) look(ctx context.Context, atOnce int) (int, error) {
	rows, err := j.d.read.QueryContext(ctx, heldQuery)
	if err != nil {
		return 0, explain(j.d.path, err)
	}
	defer rows.Close()
	var held []row
	for rows.Next() {
		if err := appendHeld(&held, rows.Scan); err != nil {
			return 0, explain(j.d.path, err)
		}
	}
	return j.d.clock.position(held, j.job, atOnce), explain(j.d.path, rows.Err())
}
