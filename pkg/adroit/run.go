package adroit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/adroit-run/adroit/internal/hooks"
	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// runOnce is [Run] without a Client: the conversion to that interface would link every method
// of Runtime into the smallest program.
func (rt *Runtime) runOnce(ctx context.Context, r Request) (*executor.State, error) {
	s, err := rt.Submit(ctx, r)
	if err != nil {
		return nil, err
	}
	all := context.WithoutCancel(ctx)
	_, run, err := rt.startRun(all, s.Job.ID, StartOptions{})
	if err != nil {
		return nil, err
	}
	defer context.AfterFunc(ctx, func() { run.stop(jobs.ErrStopped) })()
	if err := run.wait(all, nil); err != nil {
		return nil, err
	}
	state, err := result(run.job)
	if e := new(StatusError); errors.As(err, &e) && ctx.Err() != nil {
		e.cause = context.Cause(ctx)
	}
	return state, err
}

// begin runs a job, or goes on with it, and returns at once.
func (rt *Runtime) begin(m *jobs.Manager, j *jobs.Job, s StartOptions) (*jobRun, error) {
	o, err := rt.runOptions(j, s)
	if err != nil {
		return nil, err
	}
	run := m.Resume
	if j.Status == jobs.Queued {
		run = m.Run
	}
	return rt.start(j.ID, run, o, s.Live)
}

// runOptions returns the options of a job that is run, or goes on as it stands.
func (rt *Runtime) runOptions(j *jobs.Job, s StartOptions) (jobs.RunOptions, error) {
	more, o := s.Limits, jobs.RunOptions{AtOnce: cmp.Or(s.AtOnce, rt.o.AtOnce)}
	if j.Status == jobs.Queued {
		return o, nil
	}
	set, err := rt.tools()
	if err != nil {
		return o, err
	}
	o.Reopen = more.Reopener(j.Output, set)
	switch {
	case more.String() != "":
		o.Reopened = "resumed with other limits: " + more.String()
	case j.Status == jobs.Failed:
		o.Reopened = "resumed after it failed: " + j.Reason
	case j.Status.Halted():
		o.Reopened = fmt.Sprintf("resumed after it was stopped (%s): %s", j.Status.Words(), j.Reason)
	}
	return o, nil
}

// startElsewhere has the engine of a job begin or go on with it, and returns once its host
// has the lease, which may take a while: at the latest after startPatience.
func (rt *Runtime) startElsewhere(ctx context.Context, m *jobs.Manager, j *jobs.Job, away Elsewhere, s StartOptions) error {
	o, err := rt.runOptions(j, s)
	if err != nil {
		return err
	}
	if j.Status.Final() || j.Status == jobs.Blocked {
		if err := m.Store.Reopen(ctx, j.ID, o.Reopen); err != nil {
			return err
		}
	}
	before, err := jobWithSignals(ctx, m.Store, j.ID)
	if err != nil {
		return err
	}
	if err := away.Start(ctx, j, rt.config(j).Host, o.Reopened, o.AtOnce); err != nil {
		return err
	}
	for _, sig := range before.Signals {
		if j.Status == jobs.Waiting && strings.Contains(sig.Name, "@") { // it may not have got there; of one step, it is taken once
			if err := away.Signal(ctx, j.ID, sig); err != nil {
				return err
			}
		}
	}
	for end := time.Now().Add(startPatience); time.Now().Before(end) && len(before.Questions) == 0; {
		now, err := jobs.Find(ctx, m.Store, j.ID)
		if err != nil {
			return err
		}
		claimed := held(now) && now.Status == jobs.Queued // without a place yet
		begun := !claimed && (now.Status != before.Status || !now.Updated.Equal(before.Updated) || held(now))
		for ev, err := range m.Store.Events(ctx, j.ID, 0, false) {
			if begun || err != nil || !held(now) { // a lease comes before a place, or before the wait for one
				break
			}
			begun = ev.Kind == event.JobQueued
		}
		if begun {
			break
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// startPatience bounds the time for which a start waits for the engine of a job.
const startPatience = 20 * time.Second

// elsewhere is the engine that runs the workflow of a job, nil if that is this runtime.
func (rt *Runtime) elsewhere(j *jobs.Job) (Elsewhere, error) {
	engine := rt.config(j).Engine
	if engine == "" {
		return nil, nil
	}
	if rt.o.Elsewhere == nil {
		return nil, problem.Invalidf("the same command with --engine "+engine+" does it", "%s is run by %s, which decides what comes next: it cannot be started, steered or ended here", j.ID, engine)
	}
	return rt.o.Elsewhere, nil
}

// signalJob sends a signal to a job, where its workflow runs. The store decides whether it may
// be sent, and logs the sender.
func (rt *Runtime) signalJob(ctx context.Context, s jobs.Store, j *jobs.Job, sig flow.Signal) error {
	e, err := rt.elsewhere(j)
	if err != nil {
		return err
	}
	sig.Sent = time.Now() // the engine may have it from the store as well
	if err := s.Send(ctx, j.ID, sig); err != nil || e == nil {
		return err
	}
	if err := e.Signal(ctx, j.ID, sig); !errors.Is(err, jobs.ErrFinal) {
		return err
	}
	return nil
}

// Attend opens a session of a job with a JobConfig.Engine, for that engine: see
// [jobs.Manager.Attend]. note comes from Elsewhere.Start, for the first session after it;
// atOnce, too, where 0 is the runtime's bound and less is none. When the session has recorded
// the end of the job, call Attended.
func (rt *Runtime) Attend(ctx context.Context, id, note string, atOnce int) (*jobs.Session, error) {
	if err := rt.usable(); err != nil {
		return nil, err
	}
	m, err := rt.Manager(ctx)
	if err != nil {
		return nil, err
	}
	j, err := jobs.Find(ctx, m.Store, id)
	if err != nil {
		return nil, err
	}
	if rt.config(j).Engine == "" {
		return nil, fmt.Errorf("%s: %w: no other engine runs it", id, jobs.ErrHeld)
	}
	if err := rt.reportLost(ctx, m, j); err != nil {
		return nil, err
	}
	return m.Attend(ctx, id, jobs.RunOptions{Hook: rt.o.Hook, Emit: rt.sink(func() {}), Reopened: note, AtOnce: max(0, cmp.Or(atOnce, rt.o.AtOnce))})
}

// Attended follows up the end of a job that was attended: its summary for later jobs, and the
// hooks of its end, for which Close waits. It reports whether the job has been reopened
// instead, for a message that came in the moment in which it ended.
func (rt *Runtime) Attended(j *jobs.Job) (goesOn bool) {
	if rt.goOnUnread(context.WithoutCancel(rt.ctx), j) {
		return true
	}
	rt.memory.Summarize(context.WithoutCancel(rt.ctx), j)
	rt.notify(j)
	return false
}

// sink passes the events of a job on to watchers. It calls claimed for each.
func (rt *Runtime) sink(claimed func()) event.Sink {
	return func(ev event.Event) {
		claimed() // a run reports nothing before that
		if ev.Kind == event.Delta || ev.Kind == event.StepStarted {
			rt.live.Send(ev)
		}
		rt.warnOfWait(ev)
		if rt.o.Emit != nil {
			rt.o.Emit(ev)
		}
	}
}

func (rt *Runtime) start(id string, run func(context.Context, string, jobs.RunOptions) (*jobs.Job, error), o jobs.RunOptions, live bool) (*jobRun, error) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if rt.shut {
		return nil, ErrClosed
	}
	own, stop := context.WithCancelCause(rt.ctx)
	j := &jobRun{id: id, stop: stop, claimed: make(chan struct{}), done: make(chan struct{})}
	if now := rt.here[id]; now == nil || now.ended() { // else the store refuses this run
		rt.here[id] = j
		if live {
			rt.live.Expect(id)
		}
	}
	claimed := sync.OnceFunc(func() { close(j.claimed) })
	o.Park, o.Hook = true, rt.o.Hook
	o.Emit = rt.sink(claimed)
	rt.runs.Go(func() {
		defer close(j.done)
		defer stop(nil)
		defer rt.hold(own)()
		j.job, j.err = run(own, id, o)
		for j.err == nil && own.Err() == nil && rt.goOnUnread(own, j.job) {
			m := rt.jobs
			j.job, j.err = m.Run(own, id, o)
		}
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
		err := rt.makeHome()
		if err == nil {
			err = errors.Join(r.Notify(context.WithoutCancel(rt.ctx), &about), r.Close())
		}
		if err != nil {
			rt.warn("%s: %v", j.ID, err)
		}
	})
}

// leave forgets a run that has ended, unless nobody would learn its error.
func (rt *Runtime) leave(j *jobRun) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if rt.here[j.id] == j && (j.err == nil || !closed(j.claimed)) {
		delete(rt.here, j.id)
	}
}

// runHere is the run of a job in this process, nil if there is none.
func (rt *Runtime) runHere(id string) *jobRun {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	return rt.here[id]
}

// forgetRun forgets a run whose error has been reported.
func (rt *Runtime) forgetRun(j *jobRun) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if rt.here[j.id] == j && j.ended() {
		delete(rt.here, j.id)
	}
}

// keepEnded bounds the ended jobs without a handle that a Runtime without Data keeps.
const keepEnded = 100

// letGo notes that a handle on a job is gone.
func (rt *Runtime) letGo(id string) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if rt.handles[id]--; rt.handles[id] == 0 {
		delete(rt.handles, id)
	}
}

// release forgets the oldest ended jobs of a Runtime that keeps them in memory. It looks at all of
// them, and so the more rarely the more there are.
func (rt *Runtime) release() {
	rt.mu.Lock()
	rt.unlooked++
	looks := rt.forgets && rt.unlooked > (keepEnded+len(rt.handles))/10
	if looks {
		rt.unlooked = 0
	}
	rt.mu.Unlock()
	if !looks {
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
		rt.mu.Lock()
		held := rt.handles[j.ID] > 0
		rt.mu.Unlock()
		// A job being resumed at this moment stays until later.
		if !held && m.Store.Remove(ctx, j.ID) == nil {
			_ = rootfs.RemoveAll(filepath.Join(rt.home, j.ID))
		}
	}
}
