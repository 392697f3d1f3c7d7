package sqlite

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/stored"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/flow"
)

// inline is the size in bytes up to which an output lies in its step's row.
const inline = 16 << 10

type stepWrite struct {
	step     flow.Step
	begun    time.Time
	deadline time.Time
	rec      *flow.Record // nil of one that is under way
}

// record returns the record of a step, nil if there is none.
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
		if err := stored.Decode(failure, rec.Failure); err != nil {
			return nil, fmt.Errorf("%w: failure of step %s: %w", ErrDamaged, path, err)
		}
	}
	return rec, nil
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
		output, big = nil, flow.Digest(w.rec.Output)
	}
	n, err := t.exec(`insert into steps (job, path, kind, name, sum, input, begun, deadline, done, output, big, failure) values (?,?,?,?,?,?,?,?,1,?,?,?)
		on conflict do update set done = 1, output = excluded.output, big = excluded.big, failure = excluded.failure where not done`,
		s.Job, s.Path, s.Kind, s.Name, sum, input, nanos(w.begun), nanos(w.deadline), output, big, failure)
	if err != nil || n == 0 || big == "" {
		return err
	}
	return t.put(s.Job, big, w.rec.Output, false)
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

// A batch holds a journal's pending writes: checkpoints first, then the steps after them,
// then events. A step that a checkpoint of the same batch forgets is never written.
type batch struct {
	steps  []*stepWrite
	inputs []input // kept for later steps
	saves  []checkpoint
	events []event.Event
	moved  bool // something of it brings the job on
}

type input struct {
	digest string
	data   json.RawMessage
}

type checkpoint struct {
	scope string
	state flow.State
}

func (b *batch) empty() bool {
	return len(b.steps) == 0 && len(b.inputs) == 0 && len(b.saves) == 0 && len(b.events) == 0
}

// begin keeps the parts of a repeatable step's intent that are read later: the end of a
// sleep, and inputs that later steps refer to.
func (b *batch) begin(s flow.Step, deadline, now time.Time) {
	if !deadline.IsZero() {
		b.steps = append(b.steps, &stepWrite{step: s, begun: now, deadline: deadline})
	}
	if s.Keep {
		b.inputs = append(b.inputs, input{s.Digest(), s.Input})
	}
}

func (b *batch) finish(rec *flow.Record, now time.Time) {
	b.moved = b.moved || rec.Failure == nil
	i := slices.IndexFunc(b.steps, func(w *stepWrite) bool { return w.step.Path == rec.Path })
	if i < 0 {
		s := flow.Step{Job: rec.Job, Path: rec.Path, Kind: rec.Kind, Name: rec.Name}
		b.steps = append(b.steps, &stepWrite{step: s, begun: now, deadline: rec.Deadline, rec: rec})
	} else if b.steps[i].rec == nil {
		b.steps[i].rec = rec
	}
}

func (b *batch) save(scope string, st flow.State) {
	b.moved = true
	b.steps = slices.DeleteFunc(b.steps, func(w *stepWrite) bool { return strings.HasPrefix(w.step.Path, scope) })
	b.saves = slices.DeleteFunc(b.saves, func(c checkpoint) bool { return strings.HasPrefix(c.scope, scope) })
	b.saves = append(b.saves, checkpoint{scope, st})
}

// write writes b for job.
func (t *tx) write(job string, b *batch) error {
	for _, in := range b.inputs {
		if err := t.put(job, in.digest, in.data, true); err != nil {
			return err
		}
	}
	for _, c := range b.saves {
		if err := t.save(job, c.scope, c.state); err != nil {
			return err
		}
	}
	for _, w := range b.steps {
		if err := t.step(w); err != nil {
			return err
		}
	}
	return t.log(job, b.events)
}
