package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/adroit-run/adroit/internal/stored"
	"github.com/adroit-run/adroit/internal/system/exhaustion"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/flow"
)

// A Session is one claim of a job: its files, its lease with the heartbeat, its handlers
// and its event log. [Manager.Run] runs the job's workflow in one; [Manager.Attend] opens
// one for an engine elsewhere that runs the workflow, and has its steps performed here. The
// methods of an attended one are safe for concurrent use.
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
	final  Final              // how the session has ended
}

// Final returns the session's end, after [Session.End] or [Session.Leave].
func (s *Session) Final() Final { return s.final }

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

// queue waits until the job may run. Its error is the reason why not: the end
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
	if err == nil && s.job.Lease.Token > 1 {
		err = s.knowsSteps(mux)
	}
	return mux, done, err
}

// knowsSteps refuses a journal with a step of a kind that nothing here performs. The workflow need
// not ask for it again, and the next checkpoint would forget what it did.
func (s *Session) knowsSteps(mux flow.Mux) error {
	kinds, err := s.journal.Kinds(s.ctx)
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		err = errors.Join(err, stored.Unknown("the kind of step "+kinds[kind], kind, mux.Knows(kind)))
	}
	return err
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
	_ = s.journal.Sync(s.rec.ctx) // the next write returns the error
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

// Attend opens a session of a job whose workflow an engine elsewhere runs, such as that of
// pkg/temporal: it claims the job, waits until it has a place, and gets its handlers ready.
// Of o, Park has no meaning here, and a job that goes on after its end, which Reopened
// names, has been reopened. The end of ctx stops the session as it stops a run. An error
// with a Status method is a job whose handlers could not be made, which has been recorded.
func (m *Manager) Attend(ctx context.Context, id string, o RunOptions) (*Session, error) {
	if m.Mux == nil {
		return nil, errors.New("attend: the manager has no Mux to perform steps")
	}
	o.reopened = o.Reopened != ""
	s, err := m.claim(ctx, id, o)
	if err != nil {
		return nil, err
	}
	if err := s.queue(); err != nil {
		defer s.release()
		s.stop(err) // it is the cause, unless there is one
		_, unkept := s.end(nil, err)
		return nil, errors.Join(err, unkept)
	}
	s.started()
	if s.mux, s.close, err = s.handlers(); err != nil {
		defer s.release()
		err = &setupError{err, s.job.Lease.Token > 1}
		_, unkept := s.end(nil, err)
		return nil, errors.Join(err, unkept)
	}
	s.asked = map[string]*answer{}
	s.parked = s.question() // asked by an earlier session, which may not have recorded that it waits
	return s, nil
}

// question is the last open question of the job, nil if there is none.
func (s *Session) question() *flow.ParkedError {
	j, err := Find(s.ctx, s.m.Store, s.job.ID)
	if err != nil || len(j.Questions) == 0 {
		return nil
	}
	q := j.Questions[len(j.Questions)-1]
	return &flow.ParkedError{Path: q.Path, Signals: q.Signals, About: q.About}
}

// History returns what an engine needs to replay a job from its beginning: see [Journal].
func (s *Session) History(ctx context.Context) (flow.History, error) { return s.journal.History(ctx) }

// A Task is a step that an engine elsewhere asks for.
type Task struct {
	// Before are the steps that the engine has performed by itself since the task before.
	Before []flow.Past `json:"before,omitempty"`
	Step   flow.Step   `json:"step"`
	// Race means that the step belongs to a branch of a [flow.Race], and that it is lost
	// when the context of Do ends.
	Race bool `json:"race,omitempty"`
}

// An answer is the outcome of a step that was asked for.
type answer struct {
	over chan struct{} // closed when the rest is there
	out  json.RawMessage
	err  error
}

// outcome reports whether the step has an outcome: it failed, or it did not.
func (a *answer) outcome() bool { return a.err == nil || errors.As(a.err, new(*flow.StepError)) }

// keepAnswers bounds the outcomes that a session remembers.
const keepAnswers = 64

// Do performs a step, or returns the outcome that it had: an engine whose connection broke
// asks again. A *flow.StepError is an outcome. Any other error leaves the step as it is, and
// is the session's if it has ended. The end of ctx stops the step, which stays open,
// and fails one of a race. A step of kind await is only journaled, as a question of the job.
func (s *Session) Do(ctx context.Context, t Task) (json.RawMessage, error) {
	key := t.Step.Path + "#" + t.Step.Sum()
	for {
		s.mu.Lock()
		a, again := s.asked[key]
		if !again {
			a = &answer{over: make(chan struct{})}
			s.asked[key] = a
			s.busy++
		}
		s.mu.Unlock()
		if !again {
			a.out, a.err = s.perform(ctx, t)
			s.remember(key, a)
			return a.out, a.err
		}
		select {
		case <-a.over:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if a.outcome() {
			return a.out, a.err
		}
	}
}

// remember keeps the outcome of a step that was performed.
func (s *Session) remember(key string, a *answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy--
	if !a.outcome() {
		delete(s.asked, key)
	} else if s.recent = append(s.recent, key); len(s.recent) > keepAnswers {
		delete(s.asked, s.recent[0])
		s.recent = slices.Delete(s.recent, 0, 1)
	}
	close(a.over)
}

func (s *Session) perform(ctx context.Context, t Task) (json.RawMessage, error) {
	own, stop := context.WithCancelCause(s.ctx)
	defer stop(nil)
	l := flow.NewLocal(own, &watched{s.journal, own, s.stop}, s.mux, s.rec.emit)
	l.Hook = s.o.Hook
	if t.Race {
		l.Lost = ctx
	} else {
		defer context.AfterFunc(ctx, func() { stop(context.Cause(ctx)) })()
	}
	if err := s.recordPast(t.Before); err != nil {
		return nil, err
	}
	if t.Step.Kind != flow.KindAwait {
		s.ask(nil)
		return l.Do(t.Step)
	}
	var w flow.Wait
	if err := json.Unmarshal(t.Step.Input, &w); err != nil {
		return nil, err
	}
	if err := l.Ask(t.Step); err != nil {
		return nil, err
	}
	s.ask(&flow.ParkedError{Path: t.Step.Path, Signals: w.Signals, About: w.About})
	return nil, nil
}

// ask notes the question for which the session waits, nil for none.
func (s *Session) ask(q *flow.ParkedError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parked = q
}

// recordPast journals what the engine has performed by itself, in its order.
func (s *Session) recordPast(before []flow.Past) error {
	if len(before) == 0 {
		return nil
	}
	s.past.Lock()
	defer s.past.Unlock()
	return flow.NewLocal(s.ctx, &watched{s.journal, s.ctx, s.stop}, s.mux, s.rec.emit).Record(before)
}

// Idle reports whether the session only waits for the answer to a question. One that is older than its
// last step, that of another branch, counts if there was no step since the last call: another may come.
func (s *Session) Idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy > 0 || s.parked != nil {
		return s.busy == 0
	}
	s.parked = s.question()
	return false
}

// Ended returns why the session has to end, nil if it does not: the lease was lost, the
// store failed, the job was cancelled, or the context of Attend has ended. Then Leave it.
func (s *Session) Ended() error { return context.Cause(s.ctx) }

// An ending is the end of a workflow that ran elsewhere.
type ending struct {
	status Status
	reason string
}

func (e *ending) Error() string  { return e.reason }
func (e *ending) Status() string { return string(e.status) }
func (e *ending) Reason() string { return e.reason }

// Verdict returns how a workflow that ended with err went, as a status and a reason for
// people, for an engine that runs workflows itself.
func Verdict(err error) (Status, string) { return verdict(err, nil) }

// End records how the workflow of the job has ended, and ends the session. The job that it
// returns has no final status if that could not be recorded: open another session then.
func (s *Session) End(before []flow.Past, out json.RawMessage, status Status, reason string) (*Job, error) {
	defer s.release()
	s.wait()
	if err := s.recordPast(before); err != nil {
		s.stop(err)
		return s.end(nil, err)
	}
	if status == Done {
		return s.end(out, nil)
	}
	return s.end(out, &ending{status, reason})
}

// Leave ends a session that has nothing to do, so that the lease and the files of the job
// are free: it waits for a person, or why interrupts it. The job goes on when it is attended
// again. A step that is being performed is stopped.
func (s *Session) Leave(why error) (*Job, error) {
	defer s.release()
	s.mu.Lock()
	parked := s.parked
	s.mu.Unlock()
	if parked != nil && s.Ended() == nil {
		return s.end(nil, parked)
	}
	s.stop(why)
	s.wait()
	return s.end(nil, context.Cause(s.ctx))
}

// wait waits until no step is performed any more.
func (s *Session) wait() {
	s.mu.Lock()
	under := make([]*answer, 0, len(s.asked))
	for _, a := range s.asked {
		under = append(under, a)
	}
	s.mu.Unlock()
	for _, a := range under {
		<-a.over
	}
}
