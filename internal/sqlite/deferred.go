package sqlite

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/flow"
)

// maxDelay is how long a write that a crash may lose waits for a transaction to
// ride in.
const maxDelay = 20 * time.Millisecond

// A batch is what a journal has yet to write: checkpoints first, then steps
// that came after them, then events. A step that a checkpoint of the same batch
// forgets is never written.
type batch struct {
	steps  []*stepWrite
	inputs []input // kept for later steps
	saves  []checkpoint
	events []event.Event
	moved  bool // something of it brings the job on
}

type stepWrite struct {
	step     flow.Step
	begun    time.Time
	deadline time.Time
	rec      *flow.Record // nil of one that is under way
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

// begin keeps what of the intent of a repeatable step somebody reads: when a sleep is
// over, and the inputs that later steps refer to.
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

// later has add put something into the batch that is written with the journal's
// next transaction, after maxDelay at the latest.
func (j *journal) later(ctx context.Context, add func(*batch)) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if p := j.failed.Load(); p != nil {
		return *p
	}
	add(&j.waiting)
	if j.timer == nil {
		j.timer = time.AfterFunc(maxDelay, j.flush)
	}
	return nil
}

// flush sends what waits to the writer. Nobody waits for the answer: a failure
// is the result of the journal's next call.
func (j *journal) flush() {
	j.mu.Lock()
	defer j.mu.Unlock()
	b := j.take()
	if b.empty() {
		return
	}
	if err := j.d.send(context.Background(), j.op(b, nil)); err != nil {
		j.failed.CompareAndSwap(nil, &err)
	}
}

// take empties the batch. It is called with mu held.
func (j *journal) take() *batch {
	b := j.waiting
	j.waiting = batch{}
	if j.timer != nil {
		j.timer.Stop()
		j.timer = nil
	}
	for _, in := range b.inputs {
		j.inputs.Store(in.digest, in.data)
	}
	return &b
}

// op is the fenced transaction that writes b and then runs f. Once a batch was
// lost, every later transaction fails: what comes after it must not be there
// without it.
func (j *journal) op(b *batch, f func(*tx) error) *op {
	lost := func(err error) error {
		if err != nil && !b.empty() {
			j.failed.CompareAndSwap(nil, &err)
		}
		return err
	}
	return &op{
		do: func(t *tx) error {
			if p := j.failed.Load(); p != nil {
				return *p
			}
			if err := t.fence(j.job, j.token); err != nil {
				return lost(err)
			}
			if b.moved && !j.moved.Load() {
				if _, err := t.exec("update jobs set crashes = 0 where id = ? and crashes > 0", j.job); err != nil {
					return lost(err)
				}
			}
			if err := t.write(j.job, b); err != nil {
				return lost(err)
			}
			if f == nil {
				return nil
			}
			return lost(f(t))
		},
		after: func(err error) {
			_ = lost(err)
			if err == nil && b.moved {
				j.moved.Store(true)
			}
			for _, in := range b.inputs {
				j.inputs.Delete(in.digest)
			}
		},
		done: make(chan error, 1),
	}
}

// do writes what waits and runs f, in one fenced transaction, and returns when
// both are durable.
func (j *journal) do(ctx context.Context, f func(*tx) error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	j.mu.Lock()
	b := j.take()
	if !b.empty() {
		ctx = context.WithoutCancel(ctx) // what waits was acknowledged
	}
	o := j.op(b, f)
	err := j.d.send(ctx, o)
	if err != nil && !b.empty() {
		j.failed.CompareAndSwap(nil, &err)
	}
	j.mu.Unlock()
	if err != nil {
		return err
	}
	return j.d.wait(ctx, o)
}

// Sync implements jobs.Journal.
func (j *journal) Sync(ctx context.Context) error { return j.do(ctx, nil) }

// saving reports whether a checkpoint waits.
func (j *journal) saving() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.waiting.saves) > 0
}

// input returns a kept input that is not among the blobs yet.
func (j *journal) input(digest string) (json.RawMessage, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, in := range j.waiting.inputs {
		if in.digest == digest {
			return in.data, true
		}
	}
	if in, ok := j.inputs.Load(digest); ok {
		return in.(json.RawMessage), true
	}
	return nil, false
}
