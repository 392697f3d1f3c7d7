package sqlite

import (
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"
	"time"

	"github.com/adroit-run/adroit/internal/system/exhaustion"
)

// maxDelay bounds the time for which a write that a crash may lose waits for a
// transaction to join.
const maxDelay = 20 * time.Millisecond

type journal struct {
	d     *DB
	job   string
	token int64
	ahead readAhead
	moved atomic.Bool // something was finished since the claim

	mu      sync.Mutex
	waiting batch
	timer   *time.Timer           // of waiting; nil if nothing waits
	late    context.Context       // of the last that added to it
	inputs  sync.Map              // by digest: inputs that are on their way to the blobs
	failed  atomic.Pointer[error] // why a batch was lost
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
	j.late = exhaustion.Outlive(ctx)
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
	if err := j.d.send(context.Background(), j.op(j.late, b, nil)); err != nil {
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
func (j *journal) op(ctx context.Context, b *batch, f func(*tx) error) *op {
	lost := func(err error) error {
		if err != nil && !b.empty() {
			j.failed.CompareAndSwap(nil, &err)
		}
		return err
	}
	return &op{
		ctx: ctx,
		do: func(t *tx) error {
			if p := j.failed.Load(); p != nil {
				return *p
			}
			err := j.write(t, b, f)
			if exhaustion.Of(explain(j.d.path, err)) != "" {
				return err // it is tried again, and nothing comes before it
			}
			return lost(err)
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

// write writes b and then runs f, fenced.
func (j *journal) write(t *tx, b *batch, f func(*tx) error) error {
	if err := t.fence(j.job, j.token); err != nil {
		return err
	}
	if b.moved && !j.moved.Load() {
		if _, err := t.exec("update jobs set crashes = 0 where id = ? and crashes > 0", j.job); err != nil {
			return err
		}
	}
	if err := t.write(j.job, b); err != nil || f == nil {
		return err
	}
	return f(t)
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
		ctx = exhaustion.Outlive(ctx) // what waits was acknowledged
	}
	o := j.op(ctx, b, f)
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
