package flow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/adroit-run/adroit/pkg/event"
)

// deadline is when s is over at the latest; zero for steps that have no such
// time.
func (s Step) deadline(now time.Time) (time.Time, error) {
	d, err := s.patience()
	if err != nil || d == 0 {
		return time.Time{}, err
	}
	return now.Add(d), nil
}

func (s Step) patience() (d time.Duration, err error) {
	switch s.Kind {
	case KindSleep:
		err = json.Unmarshal(s.Input, &d)
	case KindAwait:
		var w Wait
		err = json.Unmarshal(s.Input, &w)
		d = w.Timeout
	}
	if err != nil {
		err = fmt.Errorf("step %s: decoding %s: %w", s.Path, s.Kind, err)
	}
	return d, err
}

// left is what remains until deadline, never more than the step asked for:
// a wall clock that was set back must not make a wait endless.
func left(s Step, deadline time.Time) time.Duration {
	d, _ := s.patience()
	return max(0, min(d, time.Until(deadline)))
}

func (l *Local) pause(s Step, deadline time.Time) error {
	ctx, stop := s.bound.context(l.Ctx)
	defer stop()
	err := sleep(ctx, left(s, deadline))
	if err != nil && l.Ctx.Err() == nil {
		return nil // lost: nobody needs to wait any more
	}
	return err
}

// pollSignals is how often an awaiting run looks for signals that another
// process sent. A wait that is no longer is never parked: nobody answers as fast, and
// whether it is over then would depend on how fast the run gets to it.
const pollSignals = 50 * time.Millisecond

// await returns the record of the signal that came, or nil if none came in
// time. The error is errLost where another branch of a race has won.
func (l *Local) await(s Step, deadline time.Time) (*Record, error) {
	var w Wait
	if err := json.Unmarshal(s.Input, &w); err != nil {
		return nil, fmt.Errorf("step %s: decoding await: %w", s.Path, err)
	}
	var end <-chan time.Time
	if w.Timeout > 0 {
		t := time.NewTimer(left(s, deadline))
		defer t.Stop()
		end = t.C
	}
	race, stop := s.bound.context(l.Ctx)
	defer stop()
	tick := time.NewTicker(pollSignals)
	defer tick.Stop()
	branches, q := s.bound.contest(), question{}
	for asked := false; ; {
		if s.bound.isLost() {
			return nil, errLost
		}
		rec, err := l.Journal.Receive(l.Ctx, s, w.Signals)
		if refused := new(SignalError); errors.As(err, &refused) {
			l.emit(s, event.Event{Kind: event.Note, Text: refused.Error()})
			asked = false // ask again
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("step %s: journal: %w", s.Path, err)
		}
		if rec != nil {
			l.hook("finished", s)
			l.emit(s, event.Event{Kind: event.StepFinished, Text: "signal received", Data: rec.Output})
			return rec, nil
		}
		if w.Timeout < 0 || w.Timeout > 0 && left(s, deadline) == 0 {
			return nil, nil
		}
		if !asked {
			asked = true
			l.emit(s, event.Event{Kind: event.Approval, Data: w.About, Text: s.Name})
			if q.changes == 0 {
				q.changes = -1
				branches.change(-1, 1)
				defer branches.change(1, -1)
			}
		}
		if l.Park && (w.Timeout == 0 || w.Timeout > pollSignals) && branches.stuck(&q) {
			return nil, &ParkedError{Path: s.Path, Signals: w.Signals, About: w.About}
		}
		select {
		case <-tick.C:
		case <-end:
			return nil, nil
		case <-race.Done():
			if l.Ctx.Err() != nil {
				return nil, context.Cause(l.Ctx)
			}
		}
	}
}

// polls reports whether s is an await that does not wait.
func (s Step) polls() bool {
	d, err := s.patience()
	return s.Kind == KindAwait && err == nil && d < 0
}
