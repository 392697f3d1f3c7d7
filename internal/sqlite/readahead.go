package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/adroit-run/adroit/pkg/flow"
)

// readAhead reads the steps of a run that is replayed before it asks for them, so
// that a recalled step takes neither the write lock nor a query of its own. It
// holds at most maxAhead steps for each branch that is under way, without
// outputs that lie in blobs.
type readAhead struct {
	mu      sync.Mutex
	counted bool
	stopped bool // with steps of former runs left
	left    int  // steps that the run has not asked for yet; from zero on nothing is read
	read    map[string]*readStep
}

// maxAhead is how many steps are read at once. Outputs in rows have at most
// inline bytes each.
const maxAhead = 64

// A readStep is a step as it lies in its table: a big output is a digest.
type readStep struct {
	rec flow.Record
	big string
}

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
			if err := json.Unmarshal(failure, r.rec.Failure); err != nil {
				return fmt.Errorf("%w: failure of step %s: %w", ErrDamaged, r.rec.Path, err)
			}
		}
		j.ahead.read[r.rec.Path] = r
	}
	return rows.Err()
}

// stop ends reading ahead: what a checkpoint forgets must not be recalled.
func (a *readAhead) stop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.counted || a.left > 0 {
		a.stopped = true
	}
	a.counted, a.left, a.read = true, 0, nil
}

const (
	countQuery = "select count(*) from steps where job = ?"
	aheadQuery = `select path, kind, name, sum, deadline, done, output, big, failure from steps
		where job = ?1 and path in (select value from json_each(?2))
		and exists (select 1 from jobs where id = ?1 and token = ?3 and owner <> '')`
)
