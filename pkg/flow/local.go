package flow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/adroit-run/adroit/internal/system/exhaustion"
	"github.com/adroit-run/adroit/pkg/event"
)

// Local is an Engine that performs steps in this process and journals each
// before and after. The zero value lacks its first four fields; the rest have
// working defaults. Each run needs its own; the branches of a fork get theirs.
type Local struct {
	Ctx     context.Context // its end stops the run at the next step; see context.Cause
	Journal Journal
	Mux     Mux
	Emit    event.Sink

	// Park makes an await without a signal end the run with a *ParkedError
	// instead of waiting here, unless that is over at once (in 50 ms).
	Park bool
	// Lost is the race that steps belong to which another engine asks this one for: once it
	// has ended they fail with the code [Lost]. May be nil.
	Lost context.Context
	// Width bounds how many branches of one fork run at once; zero means 16.
	Width int
	// Hook is called at named points of every step: "begin", "begun",
	// "performed", "finished", "save", "saved". For tests that kill.
	Hook func(point string, s Step)

	ended error
	quiet bool // nobody watches: steps need no description
}

// NewLocal returns an engine for one run.
func NewLocal(ctx context.Context, j Journal, mux Mux, emit event.Sink) *Local {
	quiet := emit == nil
	if quiet {
		emit = func(event.Event) {}
	}
	return &Local{Ctx: ctx, Journal: j, Mux: mux, Emit: emit, quiet: quiet}
}

func (l *Local) hook(point string, s Step) {
	if l.Hook != nil {
		l.Hook(point, s)
	}
}

// Ended returns why the run ended without an outcome, nil if it did not: it was
// stopped or parked, it diverged, or its journal failed. What the workflow
// returned then means nothing.
func (l *Local) Ended() error { return l.ended }

// finished journals the outcome of a step and emits its event.
func (l *Local) finished(rt Route, s Step, rec *Record, start time.Time) error {
	if err := l.finish(s, rec); err != nil {
		return err
	}
	ev := event.Event{Kind: event.StepFinished, Took: time.Since(start)}
	if rec.Failure != nil {
		ev.Error, ev.Code = rec.Failure.Message, rec.Failure.Code
	} else if rt.Describe != nil && !l.quiet {
		ev.Text, ev.Data = rt.Describe(s, rec.Output)
	}
	l.emit(s, ev)
	return nil
}

func (l *Local) finish(s Step, rec *Record) error {
	// What was performed is recorded even if the run was stopped meanwhile:
	// losing the outcome would make a finished step look interrupted.
	if err := l.Journal.Finish(exhaustion.Outlive(l.Ctx), rec); err != nil {
		return fmt.Errorf("step %s: journal: %w", s.Path, err)
	}
	l.hook("finished", s)
	return nil
}

func (l *Local) save(s Step) error {
	st, err := readState(s.Input)
	if err != nil {
		return fmt.Errorf("checkpoint %q: %w", s.Path, err)
	}
	l.hook("save", s)
	if err := l.Journal.Save(l.Ctx, s.Job, s.Path, st); err != nil {
		return fmt.Errorf("checkpoint %q: journal: %w", s.Path, err)
	}
	l.hook("saved", s)
	return nil
}

func (l *Local) load(s Step) (json.RawMessage, error) {
	st, err := l.Journal.Load(l.Ctx, s.Job, s.Path)
	if err != nil {
		return nil, fmt.Errorf("checkpoint %q: journal: %w", s.Path, err)
	}
	if st == nil {
		return nil, nil
	}
	return json.Marshal(st)
}

func (l *Local) emit(s Step, ev event.Event) {
	ev.Job, ev.Path, ev.Time = s.Job, s.Path, time.Now()
	if ev.Step == "" {
		ev.Step, ev.Name = s.Kind, s.Name
	}
	l.Emit(ev)
}

// Fork runs branches in goroutines, at most Width at once. A panic of a
// branch is raised again in the caller once all have returned. A branch that
// ends without an outcome does not stop its siblings, but ends the run after
// them.
func (l *Local) Fork(n int, branch func(int, Engine)) {
	width := l.Width
	if width == 0 {
		width = 16
	}
	var wg sync.WaitGroup
	slots := make(chan struct{}, width)
	panics := make(chan any, n)
	own := make([]Local, n)
	for i := range n {
		own[i] = *l
		slots <- struct{}{}
		wg.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					panics <- p
				}
				<-slots
			}()
			branch(i, &own[i])
		})
	}
	wg.Wait()
	for i := range own {
		// That a branch is parked says less than that another has failed.
		var parked *ParkedError
		if err := own[i].ended; err != nil && (l.ended == nil || errors.As(l.ended, &parked)) {
			l.ended = err
		}
	}
	select {
	case p := <-panics:
		panic(p)
	default:
	}
}

// Do performs or recalls s. Once a run has ended it performs nothing more: a
// workflow that takes a parked question for a refusal must not act on it.
func (l *Local) Do(s Step) (out json.RawMessage, err error) {
	if l.ended != nil {
		return nil, l.ended
	}
	defer func() {
		if err != nil && !errors.As(err, new(*StepError)) {
			l.ended = err
		}
	}()
	if l.Ctx.Err() != nil {
		return nil, context.Cause(l.Ctx)
	}
	switch s.Kind {
	case checkpoint:
		return nil, l.save(s)
	case restore:
		return l.load(s)
	}
	if s.bound == nil && s.Within > 0 { // it comes from an engine elsewhere
		s.bound = &bound{d: s.Within}
	}
	if l.Lost != nil {
		s.bound = &bound{up: s.bound, lost: l.Lost}
	}
	rec, deadline, err := l.begin(&s)
	switch {
	case err != nil:
		return nil, err
	case rec != nil && rec.Done && s.polls() && rec.Failure != nil:
		return rec.result() // it found nothing: nobody needs to see that
	case rec != nil && rec.Done:
		l.emit(s, event.Event{Kind: event.StepRecalled, Data: l.recalledData(s, rec)})
		return rec.result()
	case roles[s.Kind] != roleHandled:
		rec, err = l.performOwn(s, deadline)
	default:
		rec, err = l.perform(s, rec != nil)
	}
	if err != nil {
		return nil, err
	}
	return rec.result()
}

// begin journals that s begins. It returns the record of a step that has begun
// before, and when a sleep or an await is over.
func (l *Local) begin(s *Step) (*Record, time.Time, error) {
	deadline, err := s.deadline(time.Now())
	if err != nil {
		return nil, deadline, err
	}
	s.sum, s.Repeatable = s.Sum(), l.repeatable(*s)
	l.hook("begin", *s)
	rec, err := l.Journal.Begin(l.Ctx, *s, deadline)
	if err != nil {
		return nil, deadline, fmt.Errorf("step %s: journal: %w", s.Path, err)
	}
	l.hook("begun", *s)
	if rec == nil {
		return nil, deadline, nil
	}
	if rec.Sum != s.Sum() {
		return nil, deadline, &DivergedError{*rec, *s}
	}
	return rec, rec.Deadline, nil
}

// repeatable reports whether a crash while s is performed does no harm, also
// if the journal does not know that s has begun. An await is a question that
// other processes look for, unless it asks for what was sent before it.
func (l *Local) repeatable(s Step) bool {
	rt := l.Mux[s.Kind]
	return s.engineOwn() || s.polls() || s.Kind != KindAwait && rt.Handler != nil && rt.Again(s)
}

// recalledData returns the data of the event of a recalled step. Watchers may lack the
// event of its end: events are kept a moment after outcomes.
func (l *Local) recalledData(s Step, rec *Record) json.RawMessage {
	switch s.Kind {
	case Return:
		return s.Input
	case KindAwait:
		out, _ := rec.result() // nil if nobody answered
		return out
	case Note:
		if ev := s.note(); ev.Kind != event.Note {
			return s.Input
		}
	}
	if rt := l.Mux[s.Kind]; rt.Recount != nil && rec.Failure == nil && !l.quiet {
		return rt.Recount(s, rec.Output)
	}
	return nil
}

// received takes the signal of an await out of the journal's queue, if it is there, too. What
// is queued before it under its name was discarded by the engine that took it.
func (l *Local) received(s Step, p Past) (bool, error) {
	var sig Signal
	if err := json.Unmarshal(p.Output, &sig); err != nil {
		return false, fmt.Errorf("step %s: decoding signal: %w", s.Path, err)
	}
	s.accept = func(value json.RawMessage) (err error) {
		if !SameJSON(value, sig.Value) {
			err = errors.New("it was discarded")
		}
		return err
	}
	for {
		rec, err := l.Journal.Receive(l.Ctx, s, []string{sig.Name})
		switch {
		case errors.As(err, new(*SignalError)): // it is discarded here, too
			continue
		case err != nil:
			return false, fmt.Errorf("step %s: journal: %w", s.Path, err)
		case rec == nil:
			if p.Log != nil {
				p.Log.Job = s.Job
				l.Emit(*p.Log)
			}
			return false, nil
		}
		l.hook("finished", s)
		l.emit(s, event.Event{Kind: event.StepFinished, Text: "signal received", Data: rec.Output})
		return true, nil
	}
}

// performOwn performs a step that needs no handler.
func (l *Local) performOwn(s Step, deadline time.Time) (*Record, error) {
	rec := s.record(deadline)
	switch s.Kind {
	case KindAwait:
		start := time.Now()
		got, err := l.await(s, deadline)
		s.bound.extend(time.Since(start))
		if errors.Is(err, errLost) {
			rec.Failure = errLost
			if err := l.finish(s, rec); err != nil {
				return nil, err
			}
			l.emit(s, event.Event{Kind: event.StepFinished, Error: errLost.Message})
			return rec, nil
		}
		if got != nil || err != nil {
			return got, err
		}
		rec.Failure = &Failure{Code: TimedOut, Message: "nobody answered in time"}
		rec.NoEffect = s.polls() // what comes after it becomes durable after it
		return rec, l.finish(s, rec)
	case KindSleep:
		if err := l.pause(s, deadline); err != nil {
			return nil, err
		}
	default:
		if ev, ok := s.ownEvent(); ok {
			l.emit(s, ev)
		}
	}
	rec.Output = json.RawMessage("{}")
	return rec, l.finish(s, rec)
}
