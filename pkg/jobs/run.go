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

// A Session is one claim of a job: its files, its lease with the heartbeat, its handlers
// and its event log. [Manager.Run] runs the job's workflow in one; [Manager.Attend] opens
// one for an engine elsewhere that runs the workflow, and has its steps performed here. The
// methods of one that is attended are safe for concurrent use.
type Session struct {
	m       *Manager
	o       RunOptions
	job     *Job
	journal Journal
	rec     *recorder
	waiting sync.Map // by exhaustion.Resource: reported, and not durable yet

	ctx   context.Context // its cause is why the session has to end
	stop  context.CancelCauseFunc
	beats func() // ends the heartbeat, once
	free  func() // gives back the files

	mux   flow.Mux // of an attended session
	close func()   // of mux

	past   sync.Mutex // orders what is recorded of steps that were performed elsewhere
	mu     sync.Mutex
	asked  map[string]*answer // by path and sum of the step: under way, and the last that are over
	recent []string           // keys of those that are over, the oldest first
	busy   int                // steps under way
	parked *flow.ParkedError  // the question asked last, if no step was asked for since
}

// session begins a session with a claimed job. release ends it.
func (m *Manager) session(ctx context.Context, o RunOptions, j *Job, journal Journal, unlock func()) *Session {
	m.running.Add(1)
	s := &Session{m: m, o: o, job: j, journal: journal, free: sync.OnceFunc(func() { unlock(); m.running.Add(-1) })}
	ctx, s.stop = context.WithCancelCause(ctx)
	s.ctx = exhaustion.WithNotice(ctx, s.reportHostWait)
	s.record()
	s.beats = sync.OnceFunc(s.startHeartbeat())
	return s
}

// release gives back what the session has. Its lease, unless the end of the job has given
// that back, runs out.
func (s *Session) release() {
	s.beats()
	s.stop(nil)
	if s.close != nil {
		s.close()
		s.close = nil
	}
	s.free()
}

// record begins to log the session's events. They stop it if they cannot be kept.
func (s *Session) record() {
	s.rec = &recorder{ctx: exhaustion.Outlive(s.ctx), journal: s.journal, live: s.o.Emit, clean: s.m.Clean, fail: s.stop}
	if s.job.Lease.Token > 1 {
		logged := sync.OnceValue(func() map[string]bool { return s.logged(context.WithoutCancel(s.ctx)) })
		s.rec.logged = func(path string) bool { return logged()[path] }
	}
	if s.o.reopened && s.o.Reopened != "" {
		s.emit(event.Event{Kind: event.Note, Text: s.o.Reopened})
	}
}

// pollQueue is the interval at which the first job in the queue looks for a place; the
// others use longer intervals, up to pollQueueMost.
const (
	pollQueue     = 100 * time.Millisecond
	pollQueueMost = 2 * time.Second
)

// queue waits until the job may run. Its error is why it may not any more: the end
// of the session, or a store that failed.
func (s *Session) queue() error {
	ctx := s.ctx
	if s.o.AtOnce == 0 {
		return nil
	}
	for last := 0; ; {
		position, err := s.journal.Start(ctx, s.o.AtOnce)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return &storeError{err}
		case position == 0:
			s.job.Status = Running
			return nil
		case position != last:
			last = position
			s.queued(position)
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

func (s *Session) queued(position int) {
	verb := "jobs run"
	if s.o.AtOnce == 1 {
		verb = "job runs"
	}
	ev := event.Event{Kind: event.JobQueued, Text: fmt.Sprintf("queued, number %d: at most %d %s at once", position, s.o.AtOnce, verb)}
	ev.Data, _ = json.Marshal(queuedData{position, s.o.AtOnce}) // two numbers
	s.emit(ev)
}

// logged returns the paths of the steps whose end the log has. A step that it
// lacks, because the process died before the event was written, gets its event
// when it is recalled.
func (s *Session) logged(ctx context.Context) map[string]bool {
	paths := map[string]bool{}
	for ev, err := range s.m.Store.Events(ctx, s.job.ID, 0, false) {
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

func (s *Session) emit(ev event.Event) {
	ev.Job = s.job.ID
	if ev.Time.IsZero() {
		ev.Time = s.m.now()
	}
	s.rec.emit(ev)
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

func (s *Session) started() {
	j := s.job
	ev := event.Event{Kind: event.JobStarted, Text: "started"}
	resumed := j.Lease.Token > 1
	if resumed {
		ev.Text = "resumed"
	}
	ev.Data, _ = json.Marshal(started{j.Workflow, j.Agent, j.Model, j.Dir, j.Title, resumed}) // strings and a bool
	s.emit(ev)
}

// run runs the workflow on a local engine.
func (s *Session) run() (out json.RawMessage, err error) {
	if s.job.Cancel {
		return nil, errCancelled
	}
	wf, ok := s.m.workflow(s.job.Workflow)
	if !ok {
		return nil, &blockedError{fmt.Sprintf("this program has no workflow %q; resume the job with the one that submitted it", s.job.Workflow)}
	}
	mux, done, err := s.handlers()
	if done != nil {
		defer done()
	}
	if err != nil {
		return nil, &setupError{err, s.job.Lease.Token > 1}
	}
	defer func() {
		if p := recover(); p != nil {
			out, err = nil, &panicError{p, debug.Stack()}
		}
	}()
	e := flow.NewLocal(s.ctx, &watched{s.journal, s.ctx, s.stop}, mux, s.rec.emit)
	e.Park, e.Hook = s.o.Park, s.o.Hook
	out, err = wf.Run(flow.NewRun(s.job.ID, e).With(s.m.Workflows...), s.job.Input)
	if ended := e.Ended(); ended != nil {
		// A run without an outcome stays one, even if the workflow took the
		// engine's error for an answer.
		return out, ended
	}
	return out, err
}

// handlers makes what performs the steps, as soon as the host has what that takes.
func (s *Session) handlers() (mux flow.Mux, done func(), err error) {
	err = exhaustion.Retry(s.ctx, func() error {
		mux, done, err = s.m.Mux(s.ctx, s.job, s.journal)
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
func (s *Session) reportHostWait(what exhaustion.Resource, err error) {
	if _, reported := s.waiting.LoadOrStore(what, true); reported {
		return
	}
	defer s.waiting.Delete(what)
	ev := event.Event{Kind: event.Note, Text: "waiting: " + what.Words(), Error: err.Error()}
	ev.Data, _ = json.Marshal(waitsData{what}) // a string
	s.emit(ev)
	_ = s.journal.Sync(s.rec.ctx) // who writes next has the error
}

// startHeartbeat keeps the lease until end is called, which waits for the
// goroutine.
func (s *Session) startHeartbeat() (end func()) {
	var beats sync.WaitGroup
	ended := make(chan struct{})
	beats.Go(func() { s.heartbeat(ended) })
	return func() { close(ended); beats.Wait() }
}

// heartbeat keeps the lease and watches for a cancel until end.
func (s *Session) heartbeat(end <-chan struct{}) {
	every := s.m.ttl() / 3
	// Stopped runs beat on: the last step may still be recording its outcome.
	live := exhaustion.Outlive(s.ctx)
	poll := func() time.Duration {
		return min(max(pollCancel, time.Duration(s.m.running.Load())*pollPerRun), every)
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
			j, err := find(live, s.m.Store, Query{ID: s.job.ID})
			if err != nil {
				continue // the next beat decides whether the store is broken
			}
			if j.Lease.Token != s.job.Lease.Token && j.Status == Running {
				s.stop(ErrLeaseLost)
			}
			if j.Cancel {
				s.stop(errCancelled)
			}
			continue
		}
		cancel, err := s.journal.Heartbeat(live, s.m.ttl())
		switch {
		case errors.Is(err, ErrLeaseLost):
			s.stop(ErrLeaseLost)
		case err != nil:
			// A lease that cannot be extended must not be outlived. With the job's
			// files locked nobody takes it over while the database is waited for.
			if time.Since(last) > s.m.ttl()*2/3 {
				s.stop(&storeError{err})
			}
			continue
		case cancel:
			s.stop(errCancelled)
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
