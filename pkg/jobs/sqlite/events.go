package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// pollOthers is how often a follower looks for what other processes wrote.
// What this process writes wakes it at once.
const pollOthers = 100 * time.Millisecond

// page bounds what a follower reads at once: no read transaction stays open
// while the caller thinks, so the write-ahead log can be emptied.
const page = 256

// log gives the events of a job the next numbers and keeps them. Deltas are not
// kept.
func (t *tx) log(job string, evs []event.Event) error {
	kept := slices.DeleteFunc(slices.Clone(evs), func(ev event.Event) bool { return ev.Kind == event.Delta })
	if len(kept) == 0 {
		return nil
	}
	if t.job != job { // not by "returning", for which SQLite opens a temporary table
		if err := t.one("select seq from jobs where id = ?", []any{job}, &t.seq); err != nil {
			return missing(job, err)
		}
		t.job = job
	}
	last := t.seq
	t.seq += int64(len(kept))
	if _, err := t.exec("update jobs set seq = ? where id = ?", t.seq, job); err != nil {
		return err
	}
	for some := range slices.Chunk(kept, 16) {
		var args []any
		for _, ev := range some {
			last++
			ev.Job, ev.Seq = job, last
			b, err := json.Marshal(ev)
			if err != nil {
				return fmt.Errorf("event %s: %w", ev.Kind, err)
			}
			args = append(args, job, ev.Seq, b)
		}
		if _, err := t.exec("insert into events (job, seq, data) values (?, ?, ?)"+strings.Repeat(", (?, ?, ?)", len(some)-1), args...); err != nil {
			return err
		}
	}
	t.notify(job)
	return nil
}

// Inputs implements jobs.Store.
func (d *DB) Inputs(ctx context.Context, job string) ([]json.RawMessage, error) {
	if _, err := d.peek(ctx, job); err != nil {
		return nil, err
	}
	rows, err := d.read.QueryContext(ctx, "select b.data from refs r join blobs b on b.digest = r.digest where r.job = ? and r.keep order by b.rowid", job)
	if err != nil {
		return nil, explain(d.path, err)
	}
	defer rows.Close()
	var out []json.RawMessage
	for rows.Next() {
		var b []byte
		if err := rows.Scan(&b); err != nil {
			return nil, explain(d.path, err)
		}
		out = append(out, b)
	}
	return out, explain(d.path, rows.Err())
}

// Events implements jobs.Store. A job that is queued counts as running: its
// follower waits for it to start.
func (d *DB) Events(ctx context.Context, job string, after int64, follow bool) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		tick := time.NewTicker(pollOthers)
		defer tick.Stop()
		for {
			// In this order, so that nothing falls between: first listen,
			// then see whether it runs, then read.
			changed := d.notifier.wait(job)
			r, err := d.peek(ctx, job)
			if err != nil {
				yield(event.Event{}, err)
				return
			}
			status := d.job(r).Status
			evs, err := d.after(ctx, job, after)
			if err != nil {
				yield(event.Event{}, err)
				return
			}
			for _, ev := range evs {
				if !yield(ev, nil) {
					return
				}
				after = ev.Seq
			}
			if len(evs) > 0 {
				continue
			}
			if !follow || status != jobs.Running && status != jobs.Queued {
				return
			}
			if err := d.moved(); err != nil { // nobody will write here again
				yield(event.Event{}, err)
				return
			}
			select {
			case <-changed:
			case <-tick.C:
			case <-ctx.Done():
				yield(event.Event{}, context.Cause(ctx))
				return
			}
		}
	}
}

func (d *DB) after(ctx context.Context, job string, seq int64) ([]event.Event, error) {
	rows, err := d.read.QueryContext(ctx, "select data from events where job = ? and seq > ? order by seq limit ?", job, seq, page)
	if err != nil {
		return nil, explain(d.path, err)
	}
	defer rows.Close()
	var evs []event.Event
	for rows.Next() {
		var b []byte
		if err := rows.Scan(&b); err != nil {
			return nil, explain(d.path, err)
		}
		var ev event.Event
		if err := json.Unmarshal(b, &ev); err != nil {
			return nil, fmt.Errorf("%w: event after %d of %s: %w", ErrDamaged, seq, job, err)
		}
		evs = append(evs, ev)
	}
	return evs, explain(d.path, rows.Err())
}
