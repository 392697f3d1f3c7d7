package adroit

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// Run submits a job, runs it and waits until it stops: the errors are those of
// Submit, and those of a job's Wait. The end of ctx interrupts the job; Run
// returns when it has stopped, with a [*StatusError] that has its id for
// Resume. A job that waits for a person is a StatusError too: answer with
// Signal, then Resume. A request with the Key of an earlier job runs no other: Run
// goes on with that job, waits for it, or returns the result that it has.
func (rt *Runtime) Run(ctx context.Context, r Request) (*executor.State, error) {
	s, err := rt.Submit(ctx, r)
	if err != nil {
		return nil, err
	}
	j, err := rt.runSubmitted(ctx, s.Job)
	if err != nil {
		return nil, asError(err)
	}
	return result(j)
}

// runSubmitted runs a job as far as it gets, wherever it stands.
func (rt *Runtime) runSubmitted(ctx context.Context, j *jobs.Job) (*jobs.Job, error) {
	m, err := rt.Manager(ctx)
	if err != nil {
		return nil, err
	}
	var run agents.Job
	switch {
	case j.Status.Final():
		return j, nil
	case j.Status == jobs.Running:
		return m.Wait(ctx, j.ID)
	case j.Status == jobs.Queued:
		run, err = rt.start(ctx, j.ID, m.Run)
	default:
		run, err = rt.Resume(ctx, j.ID)
	}
	if err != nil {
		return nil, err
	}
	mine := run.(*job)
	<-mine.done // soon after the end of ctx
	return mine.job, mine.err
}

// Execute starts a job for a request and returns at once. A request that cannot
// be resolved is refused here, before there is a job. The end of ctx interrupts
// the job, as Close does: a job that is to outlive the caller's context gets
// context.WithoutCancel of it.
func (rt *Runtime) Execute(ctx context.Context, in agents.Input) (agents.Job, error) {
	s, err := rt.Submit(ctx, Request{Input: in})
	if err != nil {
		return nil, err
	}
	m, err := rt.Manager(ctx)
	if err != nil {
		return nil, err
	}
	return rt.start(ctx, s.Job.ID, m.Run)
}

// A job is a run that this process has begun.
type job struct {
	rt   *Runtime
	id   string
	done chan struct{}
	job  *jobs.Job // after done
	err  error     // after done: not how the job went, but that it could not be run
}

func (j *job) ID() string { return j.id }

// Wait returns the state as far as the job got. The end of ctx ends the waiting;
// the job goes on, unless ctx is also the one that it was started with. Its error is nil if the job is
// done, an *executor.StopError if the loop ended it otherwise, and for a job
// that may go on, or never got to the loop, a *StatusError.
func (j *job) Wait(ctx context.Context) (*executor.State, error) {
	select {
	case <-j.done:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if j.err != nil {
		return nil, j.err
	}
	return result(j.job)
}

// result is the state of a job that has stopped, and why it is not done.
func result(j *jobs.Job) (*executor.State, error) {
	var s *executor.State
	if len(j.Output) > 0 {
		if err := json.Unmarshal(j.Output, &s); err != nil {
			return nil, fmt.Errorf("job %s: decoding its result: %w", j.ID, err)
		}
	}
	switch {
	case j.Status == jobs.Done:
		return s, nil
	case s != nil && s.Outcome != nil:
		return s, &executor.StopError{Outcome: *s.Outcome}
	}
	return s, &StatusError{*j}
}

// A StatusError is a job that stopped without an outcome: it waits for a
// person, was interrupted, cancelled or blocked, or failed before its loop.
type StatusError struct{ Job jobs.Job }

func (e *StatusError) Error() string {
	return fmt.Sprintf("job %s is %s: %s", e.Job.ID, e.Job.Status, e.Job.Reason)
}

func (j *job) Cancel(ctx context.Context) error {
	m, err := j.rt.Manager(ctx)
	if err == nil {
		_, err = m.Cancel(ctx, j.id)
	}
	return err
}
