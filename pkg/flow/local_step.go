package flow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/adroit-run/adroit/pkg/event"
)

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
	case Checkpoint:
		return nil, l.save(s)
	case Restore:
		return l.load(s)
	}
	rec, deadline, err := l.begin(&s)
	switch {
	case err != nil:
		return nil, err
	case rec != nil && rec.Done && s.polls() && rec.Failure != nil:
		return rec.result() // it found nothing: nobody needs to see that
	case rec != nil && rec.Done:
		l.emit(s, event.Event{Kind: event.StepRecalled, Data: l.recount(s, rec)})
		return rec.result()
	case Roles[s.Kind] != Handled:
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

// recount is the data of the event of a recalled step. Watchers may lack the event
// of its end: events are kept a moment after outcomes.
func (l *Local) recount(s Step, rec *Record) json.RawMessage {
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
