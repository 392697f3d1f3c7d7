package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/adroit-run/adroit/internal/stored"
	"github.com/adroit-run/adroit/pkg/flow"
)

// known returns the step at s.Path if a former run has finished it. If it has
// not, sure reports that there is no step at all; otherwise the writer has to
// look.
func (j *journal) known(ctx context.Context, s flow.Step) (rec *flow.Record, sure bool, err error) {
	a := &j.ahead
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.counted {
		if err := j.d.count1.QueryRowContext(ctx, j.job).Scan(&a.left); err != nil {
			return nil, false, explain(j.d.path, err)
		}
		a.counted = true
	}
	if a.left <= 0 {
		return nil, !a.stopped, nil
	}
	r, ok := a.read[s.Path]
	if !ok {
		if err := j.page(ctx, s.Path); err != nil {
			return nil, false, explain(j.d.path, err)
		}
		if r, ok = a.read[s.Path]; !ok {
			return nil, true, nil
		}
	}
	delete(a.read, s.Path)
	if a.left--; a.left == 0 {
		a.read = nil
	}
	if !r.rec.Done {
		return nil, false, nil // it may be performed: that takes the lease
	}
	if r.big != "" {
		if err := j.d.blob1.QueryRowContext(ctx, r.big).Scan((*[]byte)(&r.rec.Output)); err != nil {
			return nil, false, fmt.Errorf("%w: output of step %s: %w", ErrDamaged, s.Path, err)
		}
	}
	return &r.rec, true, nil
}

// page reads the step at path and those that come next in its scope: the more,
// the further the run has got there. A journal whose lease is lost finds none.
func (j *journal) page(ctx context.Context, path string) error {
	dot := strings.LastIndexByte(path, '.') + 1
	n, err := strconv.Atoi(path[dot:])
	if err != nil {
		return nil // not a path of a workflow's step
	}
	paths := make([]string, min(max(n, 4), maxAhead))
	for i := range paths {
		paths[i] = path[:dot] + strconv.Itoa(n+i)
	}
	in, err := json.Marshal(paths)
	if err != nil {
		return err
	}
	rows, err := j.d.ahead1.QueryContext(ctx, j.job, string(in), j.token)
	if err != nil {
		return err
	}
	defer rows.Close()
	if j.ahead.read == nil {
		j.ahead.read = map[string]*readStep{}
	}
	for rows.Next() {
		r := &readStep{rec: flow.Record{Job: j.job}}
		var deadline int64
		var failure []byte
		if err := rows.Scan(&r.rec.Path, &r.rec.Kind, &r.rec.Name, &r.rec.Sum, &deadline, &r.rec.Done, (*[]byte)(&r.rec.Output), &r.big, &failure); err != nil {
			return err
		}
		r.rec.Deadline = at(deadline)
		if failure != nil {
			r.rec.Failure = new(flow.Failure)
			if err := stored.Decode(failure, r.rec.Failure); err != nil {
				return fmt.Errorf("%w: failure of step %s: %w", ErrDamaged, r.rec.Path, err)
			}
		}
		j.ahead.read[r.rec.Path] = r
	}
	return rows.Err()
}
