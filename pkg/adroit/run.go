package adroit

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"

	"github.com/adroit-run/adroit/internal/hooks"
	"github.com/adroit-run/adroit/internal/host/catalog"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/event"
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
	return result(j, context.Cause(ctx))
}

// runSubmitted runs a job as far as it gets, wherever it stands.
func (rt *Runtime) runSubmitted(ctx context.Context, j *jobs.Job) (*jobs.Job, error) {
	m, err := rt.Manager(ctx)
	if err != nil {
		return nil, err
	}
	switch {
	case j.Status.Final():
		return j, nil
	case held(j):
		return m.Wait(ctx, j.ID)
	}
	run, err := rt.begin(ctx, m, j, StartOptions{})
	if err != nil {
		return nil, err
	}
	<-run.done // soon after the end of ctx
	return run.job, run.err
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
	return asJob(rt.begin(ctx, m, s.Job, StartOptions{}))
}

// Resume goes on with a job that stopped, also one of an earlier process. Of
// one that failed or was stuck, what failed is tried again; Start also takes
// other limits. The end of ctx interrupts the job, as with Execute.
func (rt *Runtime) Resume(ctx context.Context, id string) (agents.Job, error) {
	j, m, err := rt.find(ctx, id)
	if err != nil {
		return nil, err
	}
	return asJob(rt.begin(ctx, m, j, StartOptions{}))
}

func asJob(j *job, err error) (agents.Job, error) {
	if err != nil {
		return nil, err
	}
	return j, nil
}

// begin runs a job, or goes on with it, and returns at once. The end of ctx
// interrupts it.
func (rt *Runtime) begin(ctx context.Context, m *jobs.Manager, j *jobs.Job, s StartOptions) (*job, error) {
	more, atOnce := s.Limits, cmp.Or(s.AtOnce, rt.o.AtOnce)
	if j.Status == jobs.Queued {
		return rt.start(ctx, j.ID, m.Run, jobs.RunOptions{AtOnce: atOnce}, s.Live)
	}
	set, err := rt.tools()
	if err != nil {
		return nil, err
	}
	o := jobs.RunOptions{AtOnce: atOnce, Reopen: more.Reopener(j.Output, set)}
	switch {
	case more.String() != "":
		o.Reopened = "resumed with other limits: " + more.String()
	case j.Status == jobs.Failed:
		o.Reopened = "resumed after it failed: " + j.Reason
	case j.Status.Halted():
		o.Reopened = fmt.Sprintf("resumed after it was stopped (%s): %s", j.Status.Words(), j.Reason)
	}
	return rt.start(ctx, j.ID, m.Resume, o, s.Live)
}

func (rt *Runtime) start(ctx context.Context, id string, run func(context.Context, string, jobs.RunOptions) (*jobs.Job, error), o jobs.RunOptions, live bool) (*job, error) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if rt.shut {
		return nil, errors.New("adroit: the runtime is closed")
	}
	own, stop := context.WithCancelCause(rt.ctx)
	j := &job{rt: rt, id: id, stop: stop, claimed: make(chan struct{}), done: make(chan struct{})}
	if now := rt.here[id]; now == nil || now.ended() { // else the store refuses this run
		rt.here[id] = j
		if live {
			rt.live.Expect(id)
		}
	}
	claimed := sync.OnceFunc(func() { close(j.claimed) })
	o.Park, o.Hook = true, rt.o.Hook
	o.Emit = func(ev event.Event) {
		claimed() // a run reports nothing before that
		if ev.Kind == event.Delta || ev.Kind == event.StepStarted {
			rt.live.Send(ev)
		}
		rt.warnOfWait(ev)
		if rt.o.Emit != nil {
			rt.o.Emit(ev)
		}
	}
	rt.runs.Go(func() {
		defer close(j.done)
		defer stop(nil)
		defer context.AfterFunc(ctx, func() {
			if err := ctx.Err(); errors.Is(err, context.DeadlineExceeded) {
				stop(timeOver{err})
			} else {
				stop(jobs.ErrStopped)
			}
		})()
		defer rt.hold(own)()
		j.job, j.err = run(own, id, o)
		for j.err == nil && own.Err() == nil && rt.goOnUnread(own, j.job) {
			m := rt.jobs
			j.job, j.err = m.Run(own, id, o)
		}
		j.cause = context.Cause(own)
		rt.memory.Summarize(context.WithoutCancel(rt.ctx), j.job)
		rt.notify(j.job)
		rt.leave(j)
		rt.release()
	})
	return j, nil
}

// hold takes a place among the jobs that run or are queued here; release gives it back.
// At the end of ctx it takes none: the run that follows does nothing any more.
func (rt *Runtime) hold(ctx context.Context) (release func()) {
	if rt.held == nil {
		return func() {}
	}
	select {
	case rt.held <- struct{}{}:
		return func() { <-rt.held }
	case <-ctx.Done():
		return func() {}
	}
}

// timeOver interrupts a job because the time of the context that it was started with is
// over.
type timeOver struct{ err error }

func (timeOver) Error() string     { return "the caller's time is over" }
func (e timeOver) Unwrap() []error { return []error{jobs.ErrStopped, e.err} }

// notify runs the hooks of the end of a run. It is outside of the job: nothing
// depends on it, and Close waits for it, for as long as it may take. The directory
// is ours: the job's may be gone.
func (rt *Runtime) notify(j *jobs.Job) {
	if j == nil || !slices.ContainsFunc(rt.o.Hooks, func(h hooks.Hook) bool { return h.When == hooks.Ended }) {
		return
	}
	rt.runs.Go(func() {
		about := *j
		about.Title, _ = rt.o.Secrets.String(j.Title)
		r := hooks.New(rt.data(), rt.o.Hooks)
		err := errors.Join(r.Notify(context.WithoutCancel(rt.ctx), &about), r.Close())
		if err != nil {
			rt.warn("%s: %v", j.ID, err)
		}
	})
}

// leave forgets a run that has ended, unless nobody would learn its error.
func (rt *Runtime) leave(j *job) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if rt.here[j.id] == j && (j.err == nil || !closed(j.claimed)) {
		delete(rt.here, j.id)
	}
}

// runHere is the run of a job in this process, nil if there is none.
func (rt *Runtime) runHere(id string) *job {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	return rt.here[id]
}

// forgetRun forgets a run whose error has been reported.
func (rt *Runtime) forgetRun(j *job) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if rt.here[j.id] == j && j.ended() {
		delete(rt.here, j.id)
	}
}

// keepEnded is how many ended jobs a Runtime without Data remembers.
const keepEnded = 100

// release forgets the oldest ended jobs of a Runtime that keeps them in memory.
func (rt *Runtime) release() {
	if !rt.forgets {
		return
	}
	ctx := context.WithoutCancel(rt.ctx)
	m, err := rt.Manager(ctx)
	if err != nil {
		return
	}
	ended, err := m.Store.List(ctx, jobs.Query{Status: jobs.Ended()})
	if err != nil || len(ended) <= keepEnded {
		return
	}
	for _, j := range ended[keepEnded:] {
		// One that somebody resumes at this moment stays until later.
		if m.Store.Remove(ctx, j.ID) == nil {
			_ = rootfs.RemoveAll(filepath.Join(rt.home, j.ID))
		}
	}
}

// Wait returns the state as far as the job got. The end of ctx ends the waiting;
// the job goes on, unless ctx is also the one that it was started with. Its error is nil if the job is
// done, an *executor.StopError if the loop ended it otherwise, and for a job
// that may go on, or never got to the loop, a *StatusError.
func (j *job) Wait(ctx context.Context) (*executor.State, error) {
	if err := j.wait(ctx, nil); err != nil {
		return nil, err
	}
	return result(j.job, j.cause)
}

// result is the state of a job that has stopped, and why it is not done. cause is what
// has ended its context, nil if nothing has.
func result(j *jobs.Job, cause error) (*executor.State, error) {
	var s *executor.State
	if len(j.Output) > 0 {
		if err := json.Unmarshal(j.Output, &s); err != nil {
			return nil, fmt.Errorf("job %s: decoding its result: %w", j.ID, err)
		}
	}
	switch {
	case j.Status.Succeeded():
		return s, nil
	case slices.Contains([]jobs.Status{jobs.Waiting, jobs.Interrupted, jobs.Queued, jobs.Running}, j.Status):
		// What there is of an outcome is of before.
	case s != nil && s.Outcome != nil:
		return s, &executor.StopError{Outcome: *s.Outcome}
	}
	e := &StatusError{Job: *j}
	if j.Status == jobs.Interrupted {
		e.cause = cause
	}
	return s, e
}

// A StatusError is a job that stopped without an outcome: it waits for a
// person, was interrupted, cancelled or blocked, or failed before its loop.
type StatusError struct {
	Job jobs.Job

	cause error
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("job %s is %s: %s", e.Job.ID, e.Job.Status, e.Job.Reason)
}

// Unwrap is what interrupted the job in this process, if that is known, as
// context.DeadlineExceeded of the context that it was started with.
func (e *StatusError) Unwrap() error { return e.cause }

func (j *job) Cancel(ctx context.Context) error {
	m, err := j.rt.Manager(ctx)
	if err == nil {
		_, err = m.Cancel(ctx, j.id)
	}
	return err
}

// Agent binds an agent built in Go to the runtime, so that Execute works.
func (rt *Runtime) Agent(a agents.DynamicAgent) *agents.DynamicAgent {
	a.Runner = runner{rt}
	return &a
}

// Lookup finds an agent of Options.Agents, bound to the runtime.
func (rt *Runtime) Lookup(name string) (*agents.DynamicAgent, error) {
	cat := rt.catalog.Agents(catalog.Decision{})
	a, err := cat.Lookup(name)
	if err != nil {
		return nil, err
	}
	return rt.Agent(*a), nil
}

// runner runs agents that are bound to a runtime.
type runner struct{ *Runtime }

// Submit implements [agents.Runner].
func (r runner) Submit(ctx context.Context, in agents.Input) (agents.Job, error) {
	set, err := r.tools()
	if err != nil {
		return nil, err
	}
	if in.Spec != nil {
		own := agents.ByValue(in.Spec, set)
		in.Spec = &own
	}
	return r.Execute(ctx, in)
}
