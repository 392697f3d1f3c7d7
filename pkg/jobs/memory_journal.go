package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/flow"
)

// A memoryJournal is the journal of one job as the holder of one lease sees
// it.
type memoryJournal struct {
	m     *Memory
	job   string
	token int64
}

// with runs f while the lease is certainly held.
func (j *memoryJournal) with(ctx context.Context, job string, f func(h *memoryJob) error) error {
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
	err = j.with(ctx, s.Job, func(h *memoryJob) (err error) {
		if rec, err = h.journal.Begin(ctx, s, deadline); err != nil || rec != nil || s.Kind != flow.KindAwait || !s.Keep {
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
	return j.with(ctx, rec.Job, func(h *memoryJob) error {
		if rec.Failure == nil {
			h.Crashes = 0 // only those of a run that got nowhere count
		}
		return h.journal.Finish(ctx, rec)
	})
}

// Receive implements flow.Journal.
func (j *memoryJournal) Receive(ctx context.Context, s flow.Step, names []string) (rec *flow.Record, err error) {
	err = j.with(ctx, s.Job, func(h *memoryJob) (err error) {
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
	return j.with(ctx, job, func(h *memoryJob) error { h.Crashes = 0; return h.journal.Save(ctx, job, scope, st) })
}

// Load implements flow.Journal.
func (j *memoryJournal) Load(ctx context.Context, job, scope string) (st *flow.State, err error) {
	err = j.with(ctx, job, func(h *memoryJob) (err error) { st, err = h.journal.Load(ctx, job, scope); return err })
	return st, err
}

// Blob implements flow.Blobs.
func (j *memoryJournal) Blob(ctx context.Context, digest string) (b json.RawMessage, err error) {
	err = j.with(ctx, j.job, func(h *memoryJob) (err error) { b, err = h.journal.Blob(ctx, digest); return err })
	return b, err
}

// Append implements Journal.
func (j *memoryJournal) Append(ctx context.Context, evs ...event.Event) error {
	return j.with(ctx, j.job, func(h *memoryJob) error {
		for _, ev := range evs {
			if ev.Kind != event.Delta {
				h.log(ev)
				h.ring()
			}
		}
		return nil
	})
}

// Sync implements Journal.
func (j *memoryJournal) Sync(ctx context.Context) error {
	return j.with(ctx, j.job, func(*memoryJob) error { return nil })
}

// Heartbeat implements Journal.
func (j *memoryJournal) Heartbeat(ctx context.Context, ttl time.Duration) (cancel bool, err error) {
	err = j.with(ctx, j.job, func(h *memoryJob) error {
		h.Lease.Expires, cancel = time.Now().Add(ttl), h.Job.Cancel
		return nil
	})
	return cancel, err
}

// Start implements Journal.
func (j *memoryJournal) Start(ctx context.Context, atOnce int) (position int, err error) {
	err = j.with(ctx, j.job, func(h *memoryJob) error {
		running, before := 0, 0
		for _, o := range j.m.jobs {
			switch {
			case o == h || o.dead():
			case o.Status == Running:
				running++
			case o.Status == Queued && o.n < h.n:
				before++
			}
		}
		if running+before >= atOnce {
			position = before + 1
			return nil
		}
		h.Status, h.Updated = Running, time.Now()
		if h.Started.IsZero() {
			h.Started = h.Updated
		}
		h.ring()
		return nil
	})
	return position, err
}

// FinishJob implements Journal.
func (j *memoryJournal) FinishJob(ctx context.Context, end *Job, last *event.Event) error {
	if end.Status == Running || end.Status == "" {
		return fmt.Errorf("%s: a job is finished with the status it ended with", j.job)
	}
	return j.with(ctx, j.job, func(h *memoryJob) error {
		if h.Cancel && !end.Status.Final() {
			return fmt.Errorf("%s: %w: it was cancelled", j.job, ErrFinal)
		}
		h.finish(end.Status, end.Reason, end.Output, last)
		return nil
	})
}
