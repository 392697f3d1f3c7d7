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
	_, err := t.exec("insert into signals (job, name, value, sent) values (?, ?, ?, ?)", job, sig.Name, []byte(sig.Value), nanos(t.d.clock.now()))
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

// An await whose input is not kept only looks for messages: it asks nobody.
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
