package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/adroit-run/adroit/internal/flow/stepid"
	"github.com/adroit-run/adroit/internal/flow/stepkind"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/jobs"
)

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
		t.notify(job)
		return t.send(job, sig)
	})
}

func (t *tx) send(job string, sig flow.Signal) error {
	_, err := t.exec("insert into signals (job, name, value, sent) values (?, ?, ?, ?)", job, sig.Name, []byte(sig.Value), nanos(t.d.clock.now()))
	return err
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
	// An await whose input is not kept only looks for messages: it asks nobody.
	rows, err := d.read.QueryContext(ctx, `select path, begun, data from steps left join blobs on digest = input
		where job = ? and kind = ? and not done and input <> ''`, j.ID, stepkind.Await)
	if err != nil {
		return explain(d.path, err)
	}
	defer rows.Close()
	var asked []jobs.Question
	for rows.Next() {
		var path string
		var begun int64
		var b []byte
		if err := rows.Scan(&path, &begun, &b); err != nil {
			return explain(d.path, err)
		}
		var w flow.Wait
		if err := json.Unmarshal(b, &w); err != nil {
			return fmt.Errorf("%w: question %s of %s: %w", ErrDamaged, path, j.ID, err)
		}
		asked = append(asked, jobs.Ask(path, w, at(begun)))
	}
	if err := rows.Err(); err != nil {
		return explain(d.path, err)
	}
	slices.SortFunc(asked, func(a, b jobs.Question) int { return stepid.Compare(a.Path, b.Path) })
	j.Questions = slices.DeleteFunc(asked, func(q jobs.Question) bool {
		i := slices.IndexFunc(queued, func(name string) bool { return slices.Contains(q.Signals, name) })
		if i >= 0 {
			queued = slices.Delete(queued, i, i+1)
		}
		return i >= 0
	})
	return nil
}

// signals gives the signals of a job that nobody has consumed, oldest first.
func (d *DB) signals(ctx context.Context, job string) ([]flow.Signal, error) {
	rows, err := d.read.QueryContext(ctx, "select name, value from signals where job = ? order by n", job)
	if err != nil {
		return nil, explain(d.path, err)
	}
	defer rows.Close()
	var all []flow.Signal
	for rows.Next() {
		var s flow.Signal
		if err := rows.Scan(&s.Name, (*[]byte)(&s.Value)); err != nil {
			return nil, explain(d.path, err)
		}
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
