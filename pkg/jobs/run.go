package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/adroit-run/adroit/internal/system/exhaustion"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/flow"
)

// A run is one claim of a job. It owns one goroutine, the heartbeat, and ends
// only after that has.
type run struct {
	m       *Manager
	o       RunOptions
	job     *Job
	journal Journal
	rec     *recorder
	waiting sync.Map // by exhaustion.Resource: reported, and not durable yet
}

// record begins to log the run's events. stop ends the run if they cannot be kept.
func (r *run) record(ctx context.Context, stop context.CancelCauseFunc) {
	r.rec = &recorder{ctx: exhaustion.Outlive(ctx), journal: r.journal, live: r.o.Emit, clean: r.m.Clean, fail: stop}
	if r.job.Lease.Token > 1 {
		logged := sync.OnceValue(func() map[string]bool { return r.logged(context.WithoutCancel(ctx)) })
		r.rec.logged = func(path string) bool { return logged()[path] }
	}
	if r.o.reopened && r.o.Reopened != "" {
		r.emit(event.Event{Kind: event.Note, Text: r.o.Reopened})
	}
}

// pollQueue is the interval at which the first job in the queue looks for a place; the
// others use longer intervals, up to pollQueueMost.
const (
	pollQueue     = 100 * time.Millisecond
	pollQueueMost = 2 * time.Second
)

// queue waits until the job may run. Its error is why it may not any more: the end
// of ctx, or a store that failed.
func (r *run) queue(ctx context.Context) error {
	if r.o.AtOnce == 0 {
		return nil
	}
	for last := 0; ; {
		position, err := r.journal.Start(ctx, r.o.AtOnce)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return &storeError{err}
		case position == 0:
			r.job.Status = Running
			return nil
		case position != last:
			last = position
			r.queued(position)
		}
		select {
		case <-time.After(min(time.Duration(position)*pollQueue, pollQueueMost)):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// queuedData is the data of job.queued.
type queuedData struct {
	Position int `json:"position"` // from 1
	AtOnce   int `json:"at_once"`  // how many jobs run at once
}

func (r *run) queued(position int) {
	verb := "jobs run"
	if r.o.AtOnce == 1 {
		verb = "job runs"
	}
	ev := event.Event{Kind: event.JobQueued, Text: fmt.Sprintf("queued, number %d: at most %d %s at once", position, r.o.AtOnce, verb)}
	ev.Data, _ = json.Marshal(queuedData{position, r.o.AtOnce}) // two numbers
	r.emit(ev)
}

// logged returns the paths of the steps whose end the log has. A step that it
// lacks, because the process died before the event was written, gets its event
// when it is recalled.
func (r *run) logged(ctx context.Context) map[string]bool {
	paths := map[string]bool{}
	for ev, err := range r.m.Store.Events(ctx, r.job.ID, 0, false) {
		if err != nil {
			return nil // the run ends when it is written to
		}
		switch {
		case ev.Kind == event.StepFinished, ev.Kind == event.StepRecalled && ev.Step != "":
			paths[ev.Path] = true
		case ev.Step == flow.KindSpawn, ev.Step == flow.Return, ev.Step == flow.Note: // these have one event
			paths[ev.Path] = true
		}
	}
	return paths
}

func (r *run) emit(ev event.Event) {
	ev.Job = r.job.ID
	if ev.Time.IsZero() {
		ev.Time = r.m.now()
	}
	r.rec.emit(ev)
}

// started is the data of job.started.
type started struct {
	Workflow string `json:"workflow"`
	Agent    string `json:"agent,omitempty"`
	Model    string `json:"model,omitempty"`
	Dir      string `json:"dir,omitempty"`
	Title    string `json:"title,omitempty"`
	Resumed  bool   `json:"resumed,omitempty"`
}

func (r *run) started() {
	j := r.job
	ev := event.Event{Kind: event.JobStarted, Text: "started"}
	resumed := j.Lease.Token > 1
	if resumed {
		ev.Text = "resumed"
	}
	ev.Data, _ = json.Marshal(started{j.Workflow, j.Agent, j.Model, j.Dir, j.Title, resumed}) // strings and a bool
	r.emit(ev)
}

// perform runs the workflow on a local engine.
func (r *run) perform(ctx context.Context, stop context.CancelCauseFunc) (out json.RawMessage, err error) {
	if r.job.Cancel {
		return nil, errCancelled
	}
	wf, ok := r.m.workflow(r.job.Workflow)
	if !ok {
		return nil, &blockedError{fmt.Sprintf("this program has no workflow %q; resume the job with the one that submitted it", r.job.Workflow)}
	}
	mux, done, err := r.mux(ctx)
	if done != nil {
		defer done()
	}
	if err != nil {
		return nil, &setupError{err, r.job.Lease.Token > 1}
	}
	defer func() {
		if p := recover(); p != nil {
			out, err = nil, &panicError{p, debug.Stack()}
		}
	}()
	e := flow.NewLocal(ctx, &watched{r.journal, ctx, stop}, mux, r.rec.emit)
	e.Park, e.Hook = r.o.Park, r.o.Hook
	out, err = wf.Run(flow.NewRun(r.job.ID, e).With(r.m.Workflows...), r.job.Input)
	if ended := e.Ended(); ended != nil {
		// A run without an outcome stays one, even if the workflow took the
		// engine's error for an answer.
		return out, ended
	}
	return out, err
}

// mux makes what performs the steps, as soon as the host has what that takes.
func (r *run) mux(ctx context.Context) (mux flow.Mux, done func(), err error) {
	err = exhaustion.Retry(ctx, func() error {
		mux, done, err = r.m.Mux(ctx, r.job, r.journal)
		if err != nil && done != nil {
			done()
			done = nil
		}
		return err
	})
	return mux, done, err
}

// waitsData is the data of the event of a run that waits for the host.
type waitsData struct {
	Waiting exhaustion.Resource `json:"waiting"`
}

// reportHostWait reports that the run waits for the host, and returns when the report is
// durable. Other failures meanwhile have the same cause, and the report itself may be a
// part of it.
func (r *run) reportHostWait(what exhaustion.Resource, err error) {
	if _, reported := r.waiting.LoadOrStore(what, true); reported {
		return
	}
	defer r.waiting.Delete(what)
	ev := event.Event{Kind: event.Note, Text: "waiting: " + what.Words(), Error: err.Error()}
	ev.Data, _ = json.Marshal(waitsData{what}) // a string
	r.emit(ev)
	_ = r.journal.Sync(r.rec.ctx) // who writes next has the error
}

// startHeartbeat keeps the lease until end is called, which waits for the
// goroutine.
func (r *run) startHeartbeat(ctx context.Context, stop context.CancelCauseFunc) (end func()) {
	var beats sync.WaitGroup
	ended := make(chan struct{})
	beats.Go(func() { r.heartbeat(ctx, stop, ended) })
	return func() { close(ended); beats.Wait() }
}

// heartbeat keeps the lease and watches for a cancel until end.
func (r *run) heartbeat(ctx context.Context, stop context.CancelCauseFunc, end <-chan struct{}) {
	every := r.m.ttl() / 3
	// Stopped runs beat on: the last step may still be recording its outcome.
	live := exhaustion.Outlive(ctx)
	poll := func() time.Duration {
		return min(max(pollCancel, time.Duration(r.m.running.Load())*pollPerRun), every)
	}
	tick := time.NewTimer(poll())
	defer tick.Stop()
	for last := time.Now(); ; {
		select {
		case <-end:
			return
		case <-tick.C:
		}
		tick.Reset(poll())
		if time.Since(last) < every {
			j, err := find(live, r.m.Store, Query{ID: r.job.ID})
			if err != nil {
				continue // the next beat decides whether the store is broken
			}
			if j.Lease.Token != r.job.Lease.Token && j.Status == Running {
				stop(ErrLeaseLost)
			}
			if j.Cancel {
				stop(errCancelled)
			}
			continue
		}
		cancel, err := r.journal.Heartbeat(live, r.m.ttl())
		switch {
		case errors.Is(err, ErrLeaseLost):
			stop(ErrLeaseLost)
		case err != nil:
			// A lease that cannot be extended must not be outlived. With the job's
			// files locked nobody takes it over while the database is waited for.
			if time.Since(last) > r.m.ttl()*2/3 {
				stop(&storeError{err})
			}
			continue
		case cancel:
			stop(errCancelled)
		}
		last = time.Now()
	}
}

// watched ends the run when its journal fails, so that such a failure is not
// taken for one of the workflow.
type watched struct {
	flow.Journal
	ctx  context.Context
	stop context.CancelCauseFunc
}

func (w *watched) note(err error) error {
	switch {
	case err == nil || errors.Is(err, flow.ErrNoBlob) || errors.As(err, new(*flow.SignalError)) || w.ctx.Err() != nil:
	case errors.Is(err, ErrLeaseLost):
		w.stop(ErrLeaseLost)
	default:
		w.stop(&storeError{err})
	}
	return err
}

func (w *watched) Begin(ctx context.Context, s flow.Step, deadline time.Time) (*flow.Record, error) {
	rec, err := w.Journal.Begin(ctx, s, deadline)
	return rec, w.note(err)
}

func (w *watched) Finish(ctx context.Context, rec *flow.Record) error {
	return w.note(w.Journal.Finish(ctx, rec))
}

func (w *watched) Receive(ctx context.Context, s flow.Step, names []string) (*flow.Record, error) {
	rec, err := w.Journal.Receive(ctx, s, names)
	return rec, w.note(err)
}

func (w *watched) Save(ctx context.Context, job, scope string, st flow.State) error {
	return w.note(w.Journal.Save(ctx, job, scope, st))
}

func (w *watched) Load(ctx context.Context, job, scope string) (*flow.State, error) {
	st, err := w.Journal.Load(ctx, job, scope)
	return st, w.note(err)
}
