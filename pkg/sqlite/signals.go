package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

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
		_, err = t.exec("insert into signals (job, name, value, sent) values (?, ?, ?, ?)", job, sig.Name, []byte(sig.Value), nanos(d.clock.now()))
		t.notify(job)
		return err
	})
}

// pending returns the questions of a job. One that a queued signal will answer
// is not pending any more, though the job has not read the signal yet.
func (d *DB) pending(ctx context.Context, job string) ([]jobs.Question, error) {
	queued, err := d.queued(ctx, job)
	if err != nil {
		return nil, err
	}
	rows, err := d.read.QueryContext(ctx, `select path, begun, data from steps left join blobs on digest = input
		where job = ? and kind = ? and not done`, job, flow.KindAwait)
	if err != nil {
		return nil, explain(d.path, err)
	}
	defer rows.Close()
	var asked []jobs.Question
	for rows.Next() {
		var path string
		var begun int64
		var b []byte
		if err := rows.Scan(&path, &begun, &b); err != nil {
			return nil, explain(d.path, err)
		}
		var w flow.Wait
		if err := json.Unmarshal(b, &w); err != nil {
			return nil, fmt.Errorf("%w: question %s of %s: %w", ErrDamaged, path, job, err)
		}
		asked = append(asked, jobs.Ask(path, w, at(begun)))
	}
	if err := rows.Err(); err != nil {
		return nil, explain(d.path, err)
	}
	slices.SortFunc(asked, func(a, b jobs.Question) int { return flow.ComparePaths(a.Path, b.Path) })
	return slices.DeleteFunc(asked, func(q jobs.Question) bool {
		i := slices.IndexFunc(queued, func(name string) bool { return slices.Contains(q.Signals, name) })
		if i >= 0 {
			queued = slices.Delete(queued, i, i+1)
		}
		return i >= 0
	}), nil
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
