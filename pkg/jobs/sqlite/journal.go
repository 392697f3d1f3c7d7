package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// Journal returns the journal of job for the claim with this token. Every method
// returns jobs.ErrLeaseLost once token is not the job's any more, except for
// Begin of steps that were read ahead and are done: those are recalled, and
// nothing is performed.
func (d *DB) Journal(job string, token int64) jobs.Journal {
	return &journal{d: d, job: job, token: token}
}

func (j *journal) own(job string) error {
	if job != j.job {
		return fmt.Errorf("the journal of job %s was asked about job %s", j.job, job)
	}
	return nil
}

// Begin implements flow.Journal.
func (j *journal) Begin(ctx context.Context, s flow.Step, deadline time.Time) (*flow.Record, error) {
	if err := j.own(s.Job); err != nil {
		return nil, err
	}
	rec, sure, err := j.known(ctx, s)
	if rec != nil || err != nil {
		return rec, err
	}
	if s.Repeatable && sure {
		if err := j.fence(ctx); err != nil {
			return nil, err
		}
		return nil, j.later(ctx, func(b *batch) { b.begin(s, deadline, j.d.clock.now()) })
	}
	sum, input := s.Sum(), ""
	if s.Keep {
		input = s.Digest()
	}
	err = j.do(ctx, func(t *tx) error {
		rec = nil
		n, err := t.exec(`insert into steps (job, path, kind, name, sum, input, begun, deadline) values (?,?,?,?,?,?,?,?) on conflict do nothing`,
			s.Job, s.Path, s.Kind, s.Name, sum, input, nanos(t.d.clock.now()), nanos(deadline))
		if err != nil {
			return err
		}
		if n == 0 {
			rec, err = t.record(s.Job, s.Path)
			return err
		}
		if s.Keep {
			return t.put(s.Job, input, s.Input, true)
		}
		return nil
	})
	return rec, err
}

// Finish implements flow.Journal.
func (j *journal) Finish(ctx context.Context, rec *flow.Record) error {
	if err := j.own(rec.Job); err != nil {
		return err
	}
	err := j.later(ctx, func(b *batch) { b.finish(rec, j.d.clock.now()) })
	if err != nil || rec.NoEffect {
		return err
	}
	return j.Sync(ctx)
}

// Receive implements flow.Journal.
func (j *journal) Receive(ctx context.Context, s flow.Step, names []string) (*flow.Record, error) {
	if err := j.own(s.Job); err != nil {
		return nil, err
	}
	// Waiting runs ask often and mostly in vain: that must not take the lock.
	if err := j.fence(ctx); err != nil {
		return nil, err
	}
	queued, err := j.d.queued(ctx, j.job)
	if err != nil || !slices.ContainsFunc(queued, func(name string) bool { return slices.Contains(names, name) }) {
		return nil, err
	}
	args := []any{s.Job}
	for _, name := range names {
		args = append(args, name)
	}
	in := "?" + strings.Repeat(",?", len(names)-1)
	var rec *flow.Record
	var refused error
	err = j.do(ctx, func(t *tx) error {
		rec, refused = nil, nil
		known, err := t.record(s.Job, s.Path)
		if err != nil {
			return err
		}
		if known != nil && known.Done {
			rec = known
			return nil
		}
		var n int64
		var sig flow.Signal
		err = t.one("select n, name, value from signals where job = ? and name in ("+in+") order by n limit 1", args,
			&n, &sig.Name, (*[]byte)(&sig.Value))
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		out, err := json.Marshal(sig)
		if err != nil {
			return err
		}
		if _, err := t.exec("delete from signals where n = ?", n); err != nil {
			return err
		}
		if refused = s.Accepts(sig); refused != nil {
			return nil
		}
		done := &flow.Record{Job: s.Job, Path: s.Path, Kind: s.Kind, Name: s.Name, Sum: s.Sum(), Output: out}
		if err := t.step(&stepWrite{step: s, begun: t.d.clock.now(), rec: done}); err != nil {
			return err
		}
		rec, err = t.record(s.Job, s.Path)
		return err
	})
	return rec, errors.Join(err, refused)
}

// fence is tx.fence for reads.
func (j *journal) fence(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var n int
	// database/sql and the driver start a goroutine each for a context that may end.
	err := j.d.fence1.QueryRowContext(context.WithoutCancel(ctx), j.job, j.token).Scan(&n)
	return explain(j.d.path, lost(j.job, err))
}

// Save implements flow.Journal.
func (j *journal) Save(ctx context.Context, job, scope string, st flow.State) error {
	if err := j.own(job); err != nil {
		return err
	}
	j.ahead.stop()
	return j.later(ctx, func(b *batch) { b.save(scope, st) })
}

// History implements jobs.Journal.
func (j *journal) History(ctx context.Context) (own flow.History, err error) {
	err = j.do(ctx, func(t *tx) error {
		h, err := t.history(j.job)
		own, h.Steps = h, slices.DeleteFunc(h.Steps, func(rec flow.Record) bool { return !flow.EngineOwn(rec.Kind) })
		own.Steps, own.Output = nil, nil
		for _, s := range h.Steps {
			rec, failed := t.record(j.job, s.Path)
			if err = errors.Join(err, failed); rec != nil {
				own.Steps = append(own.Steps, *rec)
			}
		}
		return err
	})
	return own, err
}

// Load implements flow.Journal.
func (j *journal) Load(ctx context.Context, job, scope string) (*flow.State, error) {
	if err := errors.Join(j.own(job), j.fence(ctx)); err != nil {
		return nil, err
	}
	if j.saving() {
		if err := j.Sync(ctx); err != nil {
			return nil, err
		}
	}
	var st flow.State
	err := j.d.read.QueryRowContext(ctx, "select next, value from checkpoints where job = ? and scope = ?", job, scope).
		Scan(&st.Next, (*[]byte)(&st.Value))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, explain(j.d.path, err)
	}
	return &st, nil
}

// Blob implements flow.Blobs.
func (j *journal) Blob(ctx context.Context, digest string) (json.RawMessage, error) {
	if err := j.fence(ctx); err != nil {
		return nil, err
	}
	if in, ok := j.input(digest); ok {
		return in, nil
	}
	var b []byte
	err := j.d.blob1.QueryRowContext(ctx, digest).Scan(&b)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, flow.ErrNoBlob
	}
	return b, explain(j.d.path, err)
}

// Append implements jobs.Journal.
func (j *journal) Append(ctx context.Context, evs ...event.Event) error {
	return j.later(ctx, func(b *batch) { b.events = append(b.events, evs...) })
}

// Kinds implements jobs.Journal.
func (j *journal) Kinds(ctx context.Context) (map[string]string, error) {
	if err := j.Sync(ctx); err != nil {
		return nil, err
	}
	rows, err := j.d.read.QueryContext(ctx, "select kind, max(path) from steps where job = ? group by kind", j.job)
	if err != nil {
		return nil, explain(j.d.path, err)
	}
	defer rows.Close()
	kinds := map[string]string{}
	for rows.Next() {
		var kind, path string
		if err := rows.Scan(&kind, &path); err != nil {
			return nil, explain(j.d.path, err)
		}
		kinds[kind] = path
	}
	return kinds, explain(j.d.path, rows.Err())
}

// Heartbeat implements jobs.Journal.
func (j *journal) Heartbeat(ctx context.Context, ttl time.Duration) (cancel bool, err error) {
	err = j.d.do(ctx, func(t *tx) error {
		expires, boot, ticks := t.d.clock.until(ttl)
		return lost(j.job, t.one(`update jobs set expires = ?, boot = ?, ticks = ? where id = ? and token = ? and owner <> '' returning cancel`,
			[]any{expires, boot, ticks, j.job, j.token}, &cancel))
	})
	return cancel, err
}

// FinishJob implements jobs.Journal.
func (j *journal) FinishJob(ctx context.Context, end *jobs.Job, last *event.Event) error {
	if end.Status == jobs.Running || end.Status == "" {
		return fmt.Errorf("%s: a job is finished with the status it ended with", j.job)
	}
	var cancel bool // no error of the transaction, which may write what waited, too
	write := func(t *tx) error {
		err := t.one("select cancel from jobs where id = ?", []any{j.job}, &cancel)
		if cancel = cancel && !end.Status.Final(); err != nil || cancel {
			return err
		}
		return t.finishJob(j.job, end.Status, end.Reason, end.Output, last)
	}
	do := j.do
	if j.failed.Load() != nil {
		// The steps that were lost are open, as after a crash.
		do = func(ctx context.Context, f func(*tx) error) error {
			return j.d.do(ctx, func(t *tx) error {
				if err := t.fence(j.job, j.token); err != nil {
					return err
				}
				return f(t)
			})
		}
	}
	if err := do(ctx, write); err != nil {
		return err
	}
	if cancel {
		return fmt.Errorf("%s: %w: it was cancelled", j.job, jobs.ErrFinal)
	}
	return nil
}

func (t *tx) finishJob(id string, status jobs.Status, reason string, output json.RawMessage, last *event.Event) error {
	now, finished := t.d.clock.now(), time.Time{}
	if status.Final() {
		finished = now
	}
	if _, err := t.exec("update jobs set status = ?, reason = ?, output = ?, updated = ?, finished = ?, owner = '' where id = ?",
		string(status), reason, []byte(output), nanos(now), nanos(finished), id); err != nil {
		return err
	}
	t.notify(id)
	t.d.fold = true
	if last == nil {
		return nil
	}
	return t.log(id, []event.Event{*last})
}

// Exec runs one statement on a table that is not the jobs' own, such as a memory
// of this program in the same file, and returns how many rows it changed. Its effect is durable when
// it returns, or not there at all. The statement is prepared once and kept.
func (d *DB) Exec(ctx context.Context, statement string, args ...any) (rows int64, err error) {
	err = d.do(ctx, func(t *tx) (err error) {
		rows, err = t.exec(statement, args...)
		return err
	})
	return rows, err
}

// Query calls row with what scans each row that a query on such a table yields,
// until it returns an error.
func (d *DB) Query(ctx context.Context, query string, args []any, row func(scan func(...any) error) error) error {
	rows, err := d.read.QueryContext(ctx, query, args...)
	if err != nil {
		return explain(d.path, fmt.Errorf("query: %w", err))
	}
	defer rows.Close()
	for rows.Next() {
		if err := row(rows.Scan); err != nil {
			return err
		}
	}
	return explain(d.path, rows.Err())
}
