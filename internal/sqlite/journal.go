package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/adroit-run/adroit/internal/flow/stepid"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// inline is the size in bytes up to which an output lies in its step's row.
const inline = 16 << 10

type journal struct {
	d     *DB
	job   string
	token int64
	ahead readAhead
	moved atomic.Bool // something was finished since the claim

	mu      sync.Mutex
	waiting batch
	timer   *time.Timer           // of waiting; nil if nothing waits
	inputs  sync.Map              // by digest: inputs that are on their way to the blobs
	failed  atomic.Pointer[error] // why a batch was lost
}

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

// record gives what is known of a step, nil if nothing is.
func (t *tx) record(job, path string) (*flow.Record, error) {
	rec := &flow.Record{Job: job, Path: path}
	var deadline int64
	var failure []byte
	var big string
	err := t.one("select kind, name, sum, deadline, done, output, big, failure from steps where job = ? and path = ?", []any{job, path},
		&rec.Kind, &rec.Name, &rec.Sum, &deadline, &rec.Done, (*[]byte)(&rec.Output), &big, &failure)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	rec.Deadline = at(deadline)
	if big != "" {
		if err := t.one("select data from blobs where digest = ?", []any{big}, (*[]byte)(&rec.Output)); err != nil {
			return nil, fmt.Errorf("%w: output of step %s: %w", ErrDamaged, path, err)
		}
	}
	if failure != nil {
		rec.Failure = new(flow.Failure)
		if err := json.Unmarshal(failure, rec.Failure); err != nil {
			return nil, fmt.Errorf("%w: failure of step %s: %w", ErrDamaged, path, err)
		}
	}
	return rec, nil
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

// step writes a step that has begun, with its outcome if there is one. An
// outcome that is there already stays.
func (t *tx) step(w *stepWrite) error {
	s, input, sum := w.step, "", ""
	if s.Keep {
		input = s.Digest()
	}
	if w.rec == nil {
		_, err := t.exec(`insert into steps (job, path, kind, name, sum, input, begun, deadline) values (?,?,?,?,?,?,?,?) on conflict do nothing`,
			s.Job, s.Path, s.Kind, s.Name, s.Sum(), input, nanos(w.begun), nanos(w.deadline))
		return err
	}
	sum = w.rec.Sum
	var failure []byte
	if w.rec.Failure != nil {
		var err error
		if failure, err = json.Marshal(w.rec.Failure); err != nil {
			return err
		}
	}
	output, big := []byte(w.rec.Output), ""
	if len(output) > inline {
		output, big = nil, stepid.Digest(w.rec.Output)
	}
	n, err := t.exec(`insert into steps (job, path, kind, name, sum, input, begun, deadline, done, output, big, failure) values (?,?,?,?,?,?,?,?,1,?,?,?)
		on conflict do update set done = 1, output = excluded.output, big = excluded.big, failure = excluded.failure where not done`,
		s.Job, s.Path, s.Kind, s.Name, sum, input, nanos(w.begun), nanos(w.deadline), output, big, failure)
	if err != nil || n == 0 || big == "" {
		return err
	}
	return t.put(s.Job, big, w.rec.Output, false)
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

// save replaces the checkpoint of scope and forgets the steps within it.
func (t *tx) save(job, scope string, st flow.State) error {
	// Paths are digits and dots, and a scope ends in a dot: what begins with
	// it sorts before the same with a slash.
	from, to := scope, ":"
	if scope != "" {
		to = strings.TrimSuffix(scope, ".") + "/"
	}
	forget := []string{
		`delete from steps where job = ?1 and path >= ?2 and path < ?3`,
		`delete from checkpoints where job = ?1 and scope >= ?2 and scope < ?3`,
	}
	var big bool
	err := t.one(`select exists (select 1 from steps where job = ?1 and path >= ?2 and path < ?3 and big <> '')`, []any{job, from, to}, &big)
	if err != nil {
		return err
	}
	if big {
		// Outputs that lie in blobs go with their steps, unless the
		// workflow keeps them or another step has the same.
		forget = append([]string{
			`delete from refs where job = ?1 and not keep
			and digest in (select big from steps where job = ?1 and path >= ?2 and path < ?3 and big <> '')
			and not exists (select 1 from steps o where o.job = ?1 and o.big = refs.digest and not (o.path >= ?2 and o.path < ?3))`,
			`delete from blobs where digest in (select big from steps where job = ?1 and path >= ?2 and path < ?3 and big <> '')
			and not exists (select 1 from refs where refs.digest = blobs.digest)`,
		}, forget...)
	}
	for _, q := range forget {
		if _, err := t.exec(q, job, from, to); err != nil {
			return err
		}
	}
	_, err = t.exec("insert into checkpoints (job, scope, next, value) values (?, ?, ?, ?)", job, scope, st.Next, []byte(st.Value))
	return err
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

func (t *tx) put(job, digest string, b []byte, keep bool) error {
	if b == nil {
		b = []byte{}
	}
	if _, err := t.exec("insert into blobs (digest, data) values (?, ?) on conflict do nothing", digest, b); err != nil {
		return err
	}
	_, err := t.exec("insert into refs (job, digest, keep) values (?, ?, ?) on conflict do update set keep = max(keep, excluded.keep)",
		job, digest, keep)
	return err
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
	write := func(t *tx) error { return t.finishJob(j.job, end.Status, end.Reason, end.Output, last) }
	if j.failed.Load() == nil {
		return j.do(ctx, write)
	}
	// The steps that were lost are open, as after a crash.
	return j.d.do(ctx, func(t *tx) error {
		if err := t.fence(j.job, j.token); err != nil {
			return err
		}
		return write(t)
	})
}
