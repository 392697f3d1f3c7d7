package jobs

import (
	"context"
	"errors"
	"fmt"

	"github.com/adroit-run/adroit/internal/system/exhaustion"
	"github.com/adroit-run/adroit/pkg/flow"
)

// Resume continues a job that stopped. An interrupted, waiting or blocked job continues
// after its last step. A failed job retries the step that failed and keeps those that
// succeeded; one that a limit stopped or that was stuck continues if o.Reopen finds a
// way. The error is ErrFinal for a done or cancelled job; a new job repeats it.
func (m *Manager) Resume(ctx context.Context, id string, o RunOptions) (*Job, error) {
	j, err := find(ctx, m.Store, Query{ID: id})
	if err != nil {
		return nil, err
	}
	if _, err := resumable(j); err != nil {
		return nil, err
	}
	o.resumes = true
	return m.Run(ctx, id, o)
}

// reopen reopens a job that has ended, so that it goes on, with its files locked:
// it stays as it ended where they cannot be had, and another runner may have gone
// on with it until then.
func (m *Manager) reopen(ctx context.Context, id string, o *RunOptions) error {
	j, err := find(ctx, m.Store, Query{ID: id})
	if err != nil {
		return err
	}
	if o.reopened, err = resumable(j); err != nil || !o.reopened {
		return err
	}
	return m.Store.Reopen(ctx, id, o.Reopen)
}

// resumable reports whether a job has to be reopened to go on, or why it cannot.
func resumable(j *Job) (reopen bool, err error) {
	switch {
	case j.Status.Succeeded() || j.Status == Cancelled:
		return false, fmt.Errorf("%s: %w (%s); retry it to run it from the start", j.ID, ErrFinal, j.Status)
	case j.held():
		return false, fmt.Errorf("%s: %w", j.ID, ErrHeld)
	}
	return j.Status.Final() || j.Status == Blocked, nil
}

// Run claims a job and runs it until it ends, parks or is stopped. The job that it
// returns has the outcome; the error is nil whenever that was recorded. The end of ctx
// interrupts the job, which can be resumed; Cancel ends it. If another runner took the
// job meanwhile, Run stops before the next step, writes nothing more and returns
// ErrLeaseLost.
func (m *Manager) Run(ctx context.Context, id string, o RunOptions) (*Job, error) {
	if m.Mux == nil {
		return nil, errors.New("run: the manager has no Mux to perform steps")
	}
	unlock, err := m.lock(ctx, id)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if o.resumes {
		if err := m.reopen(ctx, id, &o); err != nil {
			return nil, err
		}
	}
	claim := m.Store.Claim
	if o.AtOnce > 0 {
		claim = m.Store.Enqueue
	}
	j, journal, err := claim(ctx, id, m.owner(), m.ttl())
	if err != nil {
		return nil, err
	}
	m.running.Add(1)
	defer m.running.Add(-1)
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	r := &run{m: m, o: o, job: j, journal: journal}
	ctx = exhaustion.WithNotice(ctx, r.reportHostWait)
	r.record(ctx, stop)
	endHeartbeat := r.startHeartbeat(ctx, stop)
	if err := r.queue(ctx); err != nil {
		stop(err) // it is the cause, unless there is one
		return r.end(ctx, endHeartbeat, nil, err)
	}
	r.started()
	out, err := r.perform(ctx, stop)
	return r.end(ctx, endHeartbeat, out, err)
}

// lock takes the job's files. A job that its runner could not finish although
// it ended in an orderly way is reopened, so that it counts as no crash.
func (m *Manager) lock(ctx context.Context, id string) (unlock func(), err error) {
	if m.Lock == nil {
		return func() {}, nil
	}
	j, err := find(ctx, m.Store, Query{ID: id})
	if err != nil {
		return nil, err
	}
	if j.held() {
		return nil, fmt.Errorf("%s: %w (%s)", id, ErrHeld, j.Lease.Owner)
	}
	var clean bool
	err = exhaustion.Retry(ctx, func() (err error) { unlock, clean, err = m.Lock(j); return err })
	if err != nil {
		return nil, fmt.Errorf("%s: %w", id, err)
	}
	if clean && j.Status == Interrupted && !j.Cancel {
		if err := m.Store.Reopen(ctx, id, flow.Reopener{}); err != nil {
			unlock()
			return nil, err
		}
	}
	return unlock, nil
}
