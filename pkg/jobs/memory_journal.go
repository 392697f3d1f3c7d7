package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/adroit-run/adroit/pkg/flow"
)

// Journal implements Store.
func (m *Memory) Journal(job string, token int64) flow.Journal {
	return &memoryJournal{m, job, token}
}

// Send implements Store.
func (m *Memory) Send(ctx context.Context, job string, sig flow.Signal) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	h, err := m.find(ctx, job)
	if err != nil {
		return err
	}
	if h.Status.Final() {
		return fmt.Errorf("%s: %w (%s)", job, ErrFinal, h.Status)
	}
	h.queued = append(h.queued, sig)
	h.ring()
	return h.journal.Send(ctx, job, sig)
}

// Pending implements Store. A question that a queued signal will answer is
// not pending any more.
func (m *Memory) Pending(ctx context.Context, job string) ([]Question, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	h, err := m.find(ctx, job)
	if err != nil {
		return nil, err
	}
	queued := slices.Clone(h.queued)
	var out []Question
	for _, rec := range h.journal.Records(job) {
		q, ok := h.questions[rec.Path]
		if !ok || rec.Done || rec.Kind != flow.Awaiting {
			continue
		}
		i := slices.IndexFunc(queued, func(s flow.Signal) bool { return slices.Contains(q.Signals, s.Name) })
		if i >= 0 {
			queued = slices.Delete(queued, i, i+1)
			continue
		}
		out = append(out, q)
	}
	return out, nil
}

// A memoryJournal is the journal of one job as the holder of one lease sees
// it.
type memoryJournal struct {
	m     *Memory
	job   string
	token int64
}

// with runs f while the lease is certainly held.
func (j *memoryJournal) with(ctx context.Context, job string, f func(h *held) error) error {
	if job != j.job {
		return fmt.Errorf("the journal of job %s was asked about job %s", j.job, job)
	}
	j.m.mu.Lock()
	defer j.m.mu.Unlock()
	h, err := j.m.fenced(ctx, job, j.token)
	if err != nil {
		return err
	}
	return f(h)
}

// Begin implements flow.Journal.
func (j *memoryJournal) Begin(ctx context.Context, s flow.Step, deadline time.Time) (rec *flow.Record, err error) {
	err = j.with(ctx, s.Job, func(h *held) (err error) {
		if rec, err = h.journal.Begin(ctx, s, deadline); err != nil || rec != nil || s.Kind != flow.Awaiting {
			return err
		}
		var w flow.Wait
		if err := json.Unmarshal(s.Input, &w); err != nil {
			return fmt.Errorf("step %s: decoding await: %w", s.Path, err)
		}
		h.questions[s.Path] = Ask(s.Path, w, time.Now())
		return nil
	})
	return rec, err
}

// Finish implements flow.Journal.
func (j *memoryJournal) Finish(ctx context.Context, rec *flow.Record) error {
	return j.with(ctx, rec.Job, func(h *held) error {
		if rec.Failure == nil {
			h.Crashes = 0 // only those of a run that got nowhere count
		}
		return h.journal.Finish(ctx, rec)
	})
}

// Receive implements flow.Journal.
func (j *memoryJournal) Receive(ctx context.Context, s flow.Step, names []string) (rec *flow.Record, err error) {
	err = j.with(ctx, s.Job, func(h *held) (err error) {
		rec, err = h.journal.Receive(ctx, s, names)
		if i := slices.IndexFunc(h.queued, func(s flow.Signal) bool { return slices.Contains(names, s.Name) }); (rec != nil || errors.As(err, new(*flow.SignalError))) && i >= 0 {
			h.queued = slices.Delete(h.queued, i, i+1)
		}
		return err
	})
	return rec, err
}

// Save implements flow.Journal.
func (j *memoryJournal) Save(ctx context.Context, job, scope string, st flow.State) error {
	return j.with(ctx, job, func(h *held) error { h.Crashes = 0; return h.journal.Save(ctx, job, scope, st) })
}

// Load implements flow.Journal.
func (j *memoryJournal) Load(ctx context.Context, job, scope string) (st *flow.State, err error) {
	err = j.with(ctx, job, func(h *held) (err error) { st, err = h.journal.Load(ctx, job, scope); return err })
	return st, err
}

// Put implements flow.Blobs.
func (j *memoryJournal) Put(ctx context.Context, b json.RawMessage) (digest string, err error) {
	err = j.with(ctx, j.job, func(h *held) (err error) { digest, err = h.journal.Put(ctx, b); return err })
	return digest, err
}

// Blob implements flow.Blobs.
func (j *memoryJournal) Blob(ctx context.Context, digest string) (b json.RawMessage, err error) {
	err = j.with(ctx, j.job, func(h *held) (err error) { b, err = h.journal.Blob(ctx, digest); return err })
	return b, err
}
