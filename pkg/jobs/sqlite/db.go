package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/adroit-run/adroit/internal/stored"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// Options configure a database. The zero value is good.
type Options struct {
	// Version is the version of the program, written into the file so that
	// an older program can say which one it needs.
	Version string
	// Check makes Open read every page and refuse a damaged file. It takes
	// about a second per gigabyte.
	Check bool

	vfs     string   // of SQLite, for tests that break disks
	pragmas []string // of the writer, after its own
	clock   *clock
}

// A DB is an open database. It is safe for concurrent use and implements
// jobs.Store. Close it: closing waits for what was begun.
type DB struct {
	path    string
	vfs     string
	read    *sql.DB   // a small pool of query-only connections
	write   *sql.DB   // exactly one connection, used by loop alone
	job1    *sql.Stmt // of read: what running jobs ask again and again
	fence1  *sql.Stmt
	blob1   *sql.Stmt
	count1  *sql.Stmt
	ahead1  *sql.Stmt
	conn    *sql.Conn
	stmts   map[string]*sql.Stmt // of conn
	ops     chan *op
	closing sync.RWMutex // held for reading while sending to ops
	closed  bool
	reads   bool // opened by OpenReadOnly
	opened  os.FileInfo
	stopped chan struct{}
	broken  atomic.Pointer[error]
	fold    bool // the writer's: a job has ended since the log was folded into the database
	commits atomic.Int64
	feed    feed
	clock   clock
}

// An op is one write. It may run more than once, so its effects outside of the
// transaction must be assignments.
type op struct {
	ctx     context.Context // while it waits for an exhausted host
	do      func(*tx) error
	state   atomic.Int32
	after   func(error) // called by the writer with the outcome, if not nil
	done    chan error
	noticed bool     // that it waits for the host
	changed []string // jobs whose followers look again
}

const (
	waiting = iota
	taken
	abandoned
)

// A tx is an op's view of its transaction.
type tx struct {
	d   *DB
	o   *op
	job string // fenced last, or logged for
	seq int64  // of its last event
}

func (t *tx) stmt(query string) (*sql.Stmt, error) {
	s, ok := t.d.stmts[query]
	if ok {
		return s, nil
	}
	s, err := t.d.conn.PrepareContext(context.Background(), query)
	if err == nil {
		t.d.stmts[query] = s
	}
	return s, err
}

// exec runs a statement and gives the number of rows it changed.
func (t *tx) exec(query string, args ...any) (int64, error) {
	s, err := t.stmt(query)
	if err != nil {
		return 0, err
	}
	res, err := s.Exec(args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// one scans the first row of a query, or returns sql.ErrNoRows.
func (t *tx) one(query string, args []any, to ...any) error {
	s, err := t.stmt(query)
	if err != nil {
		return err
	}
	return s.QueryRow(args...).Scan(to...)
}

// each calls f with what scans each row of a query.
func (t *tx) each(query string, args []any, f func(scan func(...any) error) error) error {
	s, err := t.stmt(query)
	if err != nil {
		return err
	}
	rows, err := s.Query(args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := f(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// notify wakes the followers of job once the transaction is durable.
func (t *tx) notify(job string) { t.o.changed = append(t.o.changed, job) }

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
			ev.Job, ev.Seq, ev.ID = job, last, 0
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

// replan applies the plan that reopening makes for a job.
func (t *tx) replan(id string, reopening func(flow.History) (flow.Reopening, error)) error {
	h, err := t.history(id)
	if err != nil {
		return err
	}
	plan, err := reopening(h)
	if err != nil {
		return fmt.Errorf("%s: %w", id, err)
	}
	forget, err := json.Marshal(plan.Forget)
	if err != nil {
		return err
	}
	again, err := json.Marshal(append([]string{}, plan.Again...))
	if err != nil {
		return err
	}
	if _, err := t.exec(`insert into attempts (job, path, n, kind, name, begun, output, failure, unknown)
		select s.job, s.path, 1 + (select count(*) from attempts a where a.job = s.job and a.path = s.path), s.kind, s.name, s.begun, s.output, s.failure,
			s.path in (select value from json_each(?3))
		from steps s where s.job = ?1 and s.done and (s.path in (select value from json_each(?2)) or s.path in (select value from json_each(?3)))`,
		id, string(forget), string(again)); err != nil {
		return err
	}
	for _, path := range plan.Again {
		if _, err := t.exec("update steps set done = 0, output = null, big = '', failure = null where job = ? and path = ?", id, path); err != nil {
			return err
		}
	}
	for _, q := range []string{
		// Outputs that lie in blobs go with their steps, as in journal.Save.
		`delete from refs where job = ?1 and not keep
			and digest in (select big from steps where job = ?1 and path in (select value from json_each(?2)) and big <> '')
			and not exists (select 1 from steps o where o.job = ?1 and o.big = refs.digest and o.path not in (select value from json_each(?2)))`,
		`delete from blobs where digest in (select big from steps where job = ?1 and path in (select value from json_each(?2)) and big <> '')
			and not exists (select 1 from refs where refs.digest = blobs.digest)`,
		`delete from steps where job = ?1 and path in (select value from json_each(?2))`,
	} {
		if _, err := t.exec(q, id, string(forget)); err != nil {
			return err
		}
	}
	for scope, st := range plan.States {
		if _, err := t.exec("insert into checkpoints (job, scope, next, value) values (?, ?, ?, ?) on conflict (job, scope) do update set value = excluded.value", id, scope, st.Next, []byte(st.Value)); err != nil {
			return err
		}
	}
	return nil
}

// history reads what is left of a job's run, without the outputs of steps.
func (t *tx) history(id string) (flow.History, error) {
	h := flow.History{States: map[string]flow.State{}, Unknown: map[string]bool{}}
	if err := t.each("select distinct path from attempts where job = ? and unknown", []any{id}, func(scan func(...any) error) error {
		var path string
		err := scan(&path)
		h.Unknown[path] = true
		return err
	}); err != nil {
		return h, err
	}
	err := t.each("select path, kind, name, sum, done, failure from steps where job = ?", []any{id}, func(scan func(...any) error) error {
		rec := flow.Record{Job: id}
		var failure []byte
		if err := scan(&rec.Path, &rec.Kind, &rec.Name, &rec.Sum, &rec.Done, &failure); err != nil {
			return err
		}
		if failure != nil {
			rec.Failure = new(flow.Failure)
			if err := stored.Decode(failure, rec.Failure); err != nil {
				return fmt.Errorf("%w: failure of step %s: %w", ErrDamaged, rec.Path, err)
			}
		}
		h.Steps = append(h.Steps, rec)
		return nil
	})
	if err != nil {
		return h, err
	}
	err = t.each("select scope, next, value from checkpoints where job = ?", []any{id}, func(scan func(...any) error) error {
		var scope string
		var st flow.State
		if err := scan(&scope, &st.Next, (*[]byte)(&st.Value)); err != nil {
			return err
		}
		h.States[scope] = st
		return nil
	})
	h.Output = func(path string) (json.RawMessage, error) {
		rec, err := t.record(id, path)
		if err != nil || rec == nil {
			return nil, err
		}
		return rec.Output, nil
	}
	return h, err
}

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
