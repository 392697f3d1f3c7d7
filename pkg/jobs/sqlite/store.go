package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/stored"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// crashLimit is the number of times that a job may lose its runner before it is blocked.
const crashLimit = 3

var briefColumns = strings.NewReplacer("input", "null", "output", "case status when 'limit' then output end").Replace(columns)

// Add implements jobs.Store. A job without a status is queued; one without a
// time was created now.
func (d *DB) Add(ctx context.Context, j *jobs.Job) (*jobs.Job, error) {
	var out *jobs.Job
	err := d.do(ctx, func(t *tx) error {
		out = nil
		if j.Key != "" {
			var r row
			err := r.scan(func(to ...any) error {
				return t.one("select "+columns+" from jobs where key = ? and scope in (?, '')", []any{j.Key, j.Scope}, to...)
			})
			if err == nil {
				out = d.job(&r)
				return nil
			}
			if !errors.Is(err, sql.ErrNoRows) {
				return err
			}
		}
		add := *j
		add.Lease = jobs.Lease{}
		if add.Status == "" {
			add.Status = jobs.Queued
		}
		if add.Created.IsZero() {
			add.Created = d.clock.now()
		}
		if add.Updated.IsZero() {
			add.Updated = add.Created
		}
		n, err := t.exec(`insert into jobs (id, workflow, agent, title, dir, model, input, key, status, reason, output,
			cancel, crashes, created, started, updated, finished, scope, request, host) values (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?) on conflict do nothing`,
			add.ID, add.Workflow, add.Agent, add.Title, add.Dir, add.Model, []byte(add.Input), add.Key, string(add.Status), add.Reason,
			[]byte(add.Output), add.Cancel, add.Crashes, nanos(add.Created), nanos(add.Started), nanos(add.Updated), nanos(add.Finished), add.Scope, add.Request, []byte(add.Host))
		if err != nil {
			return err
		}
		if n == 0 {
			return fmt.Errorf("job %s exists already", add.ID)
		}
		out = &add
		return nil
	})
	return out, err
}

// List implements jobs.Store, newest first. A running job whose lease is dead
// is listed as interrupted.
func (d *DB) List(ctx context.Context, q jobs.Query) ([]*jobs.Job, error) {
	out, err := d.list(ctx, q)
	if q.Questions {
		for _, j := range out {
			if err == nil {
				err = d.pending(ctx, j)
			}
		}
	}
	return out, err
}

func (d *DB) list(ctx context.Context, q jobs.Query) ([]*jobs.Job, error) {
	if q.ID != "" {
		r, err := d.peek(ctx, q.ID) // runners and waiting processes ask for one again and again
		if errors.Is(err, jobs.ErrNotExist) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		return []*jobs.Job{d.job(r)}, nil
	}
	where, args := []string{"1"}, []any{}
	if q.Workflow != "" {
		where, args = append(where, "workflow = ?"), append(args, q.Workflow)
	}
	if q.Agent != "" {
		where, args = append(where, "agent = ?"), append(args, q.Agent)
	}
	if q.Prefix != "" {
		where, args = append(where, "substr(id, 1, ?) = ?"), append(args, len(q.Prefix), q.Prefix)
	}
	if len(q.Status) > 0 {
		in := slices.Clone(q.Status)
		if slices.Contains(in, jobs.Interrupted) {
			in = append(in, jobs.Running, jobs.Queued)
		}
		where = append(where, "status in (?"+strings.Repeat(",?", len(in)-1)+")")
		for _, s := range in {
			args = append(args, string(s))
		}
	}
	cols := columns
	if q.Brief {
		cols = briefColumns
	}
	// By number, which needs no sorting: SQLite would write whole rows to a
	// temporary file.
	rows, err := d.read.QueryContext(ctx, "select "+cols+" from jobs where "+strings.Join(where, " and ")+" order by n desc", args...)
	if err != nil {
		return nil, explain(d.path, err)
	}
	defer rows.Close()
	var out []*jobs.Job
	for rows.Next() && (q.Limit == 0 || len(out) < q.Limit) {
		var r row
		if err := r.scan(rows.Scan); err != nil {
			return nil, explain(d.path, err)
		}
		if j := d.job(&r); len(q.Status) == 0 || slices.Contains(q.Status, j.Status) {
			out = append(out, j)
		}
	}
	slices.SortStableFunc(out, func(a, b *jobs.Job) int { return b.Created.Compare(a.Created) })
	return out, explain(d.path, rows.Err())
}

// Remove implements jobs.Store.
func (d *DB) Remove(ctx context.Context, id string) error {
	return d.do(ctx, func(t *tx) error {
		r, err := t.load(id)
		if err != nil {
			return err
		}
		if !d.clock.dead(r) {
			return fmt.Errorf("%s: %w; cancel it first", id, jobs.ErrRunning)
		}
		for _, q := range []string{
			"delete from blobs where digest in (select digest from refs where job = ?1) and not exists (select 1 from refs r where r.digest = blobs.digest and r.job <> ?1)",
			"delete from refs where job = ?1",
			"delete from events where job = ?1",
			"delete from signals where job = ?1",
			"delete from checkpoints where job = ?1",
			"delete from steps where job = ?1",
			"delete from attempts where job = ?1",
			"delete from jobs where id = ?1",
		} {
			if _, err := t.exec(q, id); err != nil {
				return err
			}
		}
		t.notify(id)
		return nil
	})
}

// Claim implements jobs.Store. The lease of a runner that died is taken over,
// at once if that is known, else when it has expired; the third time a job
// lost its runner like that it is blocked instead, with jobs.ErrBlocked.
func (d *DB) Claim(ctx context.Context, id, owner string, ttl time.Duration) (*jobs.Job, jobs.Journal, error) {
	return d.claim(ctx, id, owner, ttl, jobs.Running)
}

// claim takes the lease of a job and sets it running or queued.
func (d *DB) claim(ctx context.Context, id, owner string, ttl time.Duration, status jobs.Status) (*jobs.Job, jobs.Journal, error) {
	if owner == "" {
		return nil, nil, errors.New("claim: an owner is needed; see sqlite.Owner")
	}
	var out *jobs.Job
	var blocked error
	err := d.do(ctx, func(t *tx) error {
		blocked = nil
		r, err := t.load(id)
		if err != nil {
			return err
		}
		if err := stored.Unknown(id+": its status", string(r.Status), r.Status.Known()); err != nil {
			return err
		}
		switch {
		case r.Status.Final():
			return fmt.Errorf("%s: %w (%s)", id, jobs.ErrFinal, r.Status)
		case r.Status == jobs.Blocked:
			return fmt.Errorf("%s: %w: %s", id, jobs.ErrBlocked, r.Reason)
		case !d.clock.dead(r):
			return fmt.Errorf("%s: %w (%s)", id, jobs.ErrHeld, r.Lease.Owner)
		}
		now := d.clock.now()
		if r.Status == jobs.Running {
			r.Crashes++
		}
		if r.Crashes >= crashLimit {
			reason := fmt.Sprintf("its runner died %d times; look at its last events, then resume it", r.Crashes)
			blocked = fmt.Errorf("%s: %w: %s", id, jobs.ErrBlocked, reason)
			t.notify(id)
			_, err := t.exec("update jobs set status = 'blocked', reason = ?, crashes = ?, owner = '', token = token + 1, updated = ? where id = ?",
				reason, r.Crashes, nanos(now), id)
			return err
		}
		r.Status, r.Reason, r.Updated = status, "", now
		if r.Started.IsZero() && status == jobs.Running {
			r.Started = now
		}
		expires, boot, ticks := d.clock.until(ttl)
		r.Lease = jobs.Lease{Owner: owner, Token: r.Lease.Token + 1, Expires: at(expires)}
		out = &r.Job
		out.Dir = rootfs.WorktreePath(filepath.Dir(d.path), out.ID, out.Dir)
		t.notify(id)
		_, err = t.exec(`update jobs set status = ?, reason = '', crashes = ?, started = ?, updated = ?,
			owner = ?, token = ?, expires = ?, boot = ?, ticks = ? where id = ?`,
			string(status), r.Crashes, nanos(r.Started), nanos(now), owner, r.Lease.Token, expires, boot, ticks, id)
		return err
	})
	if err := errors.Join(err, blocked); err != nil {
		return nil, nil, err
	}
	return out, d.Journal(id, out.Lease.Token), nil
}

// Reopen implements jobs.Store. It forgives earlier crashes and takes back a
// cancel. A queued job stays as it is.
func (d *DB) Reopen(ctx context.Context, id string, o flow.Reopener) error {
	return d.do(ctx, func(t *tx) error {
		r, err := t.load(id)
		if err != nil {
			return err
		}
		if err := stored.Unknown(id+": its status", string(r.Status), r.Status.Known()); err != nil {
			return err
		}
		if r.Status == jobs.Running && !d.clock.dead(r) {
			return fmt.Errorf("%s: %w", id, jobs.ErrRunning)
		}
		if reopening := r.Status.Reopening(o); reopening != nil {
			if err := t.replan(id, reopening); err != nil {
				return err
			}
		}
		if o.Send != nil {
			if err := t.send(id, *o.Send); err != nil {
				return err
			}
		}
		t.notify(id)
		_, err = t.exec("update jobs set status = 'queued', reason = '', cancel = 0, crashes = 0, finished = 0, owner = '', updated = ? where id = ?",
			nanos(d.clock.now()), id)
		return err
	})
}

// Cancel implements jobs.Store.
func (d *DB) Cancel(ctx context.Context, id string, log *event.Event) error {
	return d.do(ctx, func(t *tx) error {
		r, err := t.load(id)
		if err != nil {
			return err
		}
		if r.Status.Final() {
			return fmt.Errorf("%s: %w (%s)", id, jobs.ErrFinal, r.Status)
		}
		if _, err := t.exec("update jobs set cancel = 1, updated = ? where id = ?", nanos(d.clock.now()), id); err != nil {
			return err
		}
		if log != nil {
			if err := t.log(id, []event.Event{*log}); err != nil {
				return err
			}
		}
		if !d.clock.dead(r) {
			return nil
		}
		// No runner is left to record the end, so the store does; and a former holder
		// must not come back.
		if _, err := t.exec("update jobs set token = token + 1 where id = ?", id); err != nil {
			return err
		}
		data, err := json.Marshal(map[string]any{"status": jobs.Cancelled, "reason": "cancelled while nobody ran it"})
		if err != nil {
			return err
		}
		return t.finishJob(id, jobs.Cancelled, "cancelled while nobody ran it", r.Output,
			&event.Event{Time: d.clock.now(), Kind: event.JobFinished, Data: data})
	})
}

// Send implements jobs.Store: the signal is queued until the job asks for it.
func (d *DB) Send(ctx context.Context, job string, sig flow.Signal) error {
	return d.do(ctx, func(t *tx) error {
		r, err := t.load(job)
		if err != nil {
			return err
		}
		if r.Status.Final() {
			return fmt.Errorf("%s: %w (%s)", job, jobs.ErrFinal, r.Status)
		}
		if sig.Question != "" {
			if err := t.answers(job, sig.Question); err != nil {
				return err
			}
		}
		t.notify(job)
		return t.send(job, sig)
	})
}

func (t *tx) send(job string, sig flow.Signal) error {
	if sig.Log != nil {
		if err := t.log(job, []event.Event{*sig.Log}); err != nil {
			return err
		}
	}
	if sig.Sent.IsZero() {
		sig.Sent = t.d.clock.now()
	}
	_, err := t.exec("insert into signals (job, name, value, sent) values (?, ?, ?, ?)", job, sig.Name, []byte(sig.Value), nanos(sig.Sent))
	return err
}

// answers fails unless a job has a question that no queued signal answers.
func (t *tx) answers(job, question string) error {
	var queued []string
	err := t.each("select name from signals where job = ? order by n", []any{job}, func(scan func(...any) error) error {
		var name string
		err := scan(&name)
		queued = append(queued, name)
		return err
	})
	if err != nil {
		return err
	}
	var asked []jobs.Question
	err = t.each(openQuestions, []any{job, flow.KindAwait}, func(scan func(...any) error) error {
		q, err := scanQuestion(job, scan)
		asked = append(asked, q)
		return err
	})
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(unanswered(asked, queued), func(q jobs.Question) bool { return q.Path == question }) {
		return fmt.Errorf("%s: %w", job, jobs.ErrAnswered)
	}
	return nil
}

// openQuestions selects the open questions of a job. An await whose input is not kept
// only looks for messages and asks nobody.
const openQuestions = `select path, begun, data from steps left join blobs on digest = input
		where job = ? and kind = ? and not done and input <> ''`

func scanQuestion(job string, scan func(...any) error) (q jobs.Question, err error) {
	var path string
	var begun int64
	var b []byte
	if err := scan(&path, &begun, &b); err != nil {
		return q, err
	}
	var w flow.Wait
	if err := json.Unmarshal(b, &w); err != nil {
		return q, fmt.Errorf("%w: question %s of %s: %w", ErrDamaged, path, job, err)
	}
	return jobs.Ask(path, w, at(begun)), nil
}

// unanswered are the questions, in order, that none of the queued signals answers.
func unanswered(asked []jobs.Question, queued []string) []jobs.Question {
	slices.SortFunc(asked, func(a, b jobs.Question) int { return flow.Compare(a.Path, b.Path) })
	return slices.DeleteFunc(asked, func(q jobs.Question) bool {
		i := slices.IndexFunc(queued, func(name string) bool { return slices.Contains(q.Signals, name) })
		if i >= 0 {
			queued = slices.Delete(queued, i, i+1)
		}
		return i >= 0
	})
}

// pending fills in the questions of a job and the signals that it has not
// received. A question that one of them will answer is not pending any more,
// though the job has not read the signal yet.
func (d *DB) pending(ctx context.Context, j *jobs.Job) (err error) {
	if j.Signals, err = d.signals(ctx, j.ID); err != nil {
		return err
	}
	var queued []string
	for _, s := range j.Signals {
		queued = append(queued, s.Name)
	}
	rows, err := d.read.QueryContext(ctx, openQuestions, j.ID, flow.KindAwait)
	if err != nil {
		return explain(d.path, err)
	}
	defer rows.Close()
	var asked []jobs.Question
	for rows.Next() {
		q, err := scanQuestion(j.ID, rows.Scan)
		if err != nil {
			return explain(d.path, err)
		}
		asked = append(asked, q)
	}
	if err := rows.Err(); err != nil {
		return explain(d.path, err)
	}
	j.Questions = unanswered(asked, queued)
	return nil
}

// signals gives the signals of a job that nobody has consumed, oldest first.
func (d *DB) signals(ctx context.Context, job string) ([]flow.Signal, error) {
	rows, err := d.read.QueryContext(ctx, "select name, value, sent from signals where job = ? order by n", job)
	if err != nil {
		return nil, explain(d.path, err)
	}
	defer rows.Close()
	var all []flow.Signal
	for rows.Next() {
		var s flow.Signal
		var sent int64
		if err := rows.Scan(&s.Name, (*[]byte)(&s.Value), &sent); err != nil {
			return nil, explain(d.path, err)
		}
		s.Sent = time.Unix(0, sent).UTC()
		all = append(all, s)
	}
	return all, explain(d.path, rows.Err())
}

// queued gives the names of the signals nobody has consumed, oldest first.
func (d *DB) queued(ctx context.Context, job string) ([]string, error) {
	rows, err := d.read.QueryContext(ctx, "select name from signals where job = ? order by n", job)
	if err != nil {
		return nil, explain(d.path, err)
	}
	defer rows.Close()
	var names []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, explain(d.path, err)
		}
		names = append(names, name)
	}
	return names, explain(d.path, rows.Err())
}
