package flow

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/adroit-run/adroit/pkg/event"
)

// deadline returns the time at which s ends at the latest, zero for steps that have none.
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

// left returns the time until deadline, but never more than the step asked for: a wall
// clock that was set back must not make a wait endless.
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

// pollSignals is the interval at which an awaiting run looks for signals from other
// processes. A wait that is no longer than this is never parked: nobody answers as fast,
// and whether it is over then would depend on how fast the run gets to it.
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

// Ask journals a question that an engine elsewhere waits for the answer to: s is an await.
// It is one of the job's until Record has its outcome.
func (l *Local) Ask(s Step) error {
	var w Wait
	if err := s.await(&w); err != nil {
		return err
	}
	rec, _, err := l.begin(&s)
	if err == nil && rec == nil {
		l.emit(s, event.Event{Kind: event.Approval, Data: w.About, Text: s.Name})
	}
	return err
}

// A Past is a step that an engine elsewhere has performed by itself, for the journal and the
// events of the host that performs the others: a note, a part, a checkpoint, a wait. It has
// an output or a failure if it is one that has an outcome.
type Past struct {
	Step   Step            `json:"step"`
	Output json.RawMessage `json:"output,omitempty"`
	// Failure of an await that nobody answered in time, or that belongs to a lost race.
	Failure *Failure `json:"failure,omitempty"`
}

// Record journals steps in the order in which they were performed. It may be called again
// with steps that it has recorded, as after a crash: each has one record and one event.
func (l *Local) Record(before []Past) error {
	first := 0
	for i, p := range before {
		if p.Step.Kind != checkpoint {
			continue
		}
		// A checkpoint forgets the steps before it, so that these look as if they were
		// new; and made again it would forget the steps after it.
		want, err := readState(p.Step.Input)
		if err != nil {
			return fmt.Errorf("checkpoint %q: %w", p.Step.Path, err)
		}
		st, err := l.Journal.Load(l.Ctx, p.Step.Job, p.Step.Path)
		if err != nil {
			return fmt.Errorf("checkpoint %q: journal: %w", p.Step.Path, err)
		}
		if st != nil && st.Next == want.Next && bytes.Equal(st.Value, want.Value) {
			first = i + 1
		}
	}
	for _, p := range before[first:] {
		if err := l.record(p); err != nil {
			return err
		}
	}
	return nil
}

func (l *Local) record(p Past) error {
	s := p.Step
	switch roles[s.Kind] {
	case roleMark, roleState:
		_, err := l.Do(s)
		return err
	case roleQuestion:
		if err := s.await(new(Wait)); err != nil {
			return err
		}
	}
	rec, deadline, err := l.begin(&s)
	if err != nil || rec != nil && rec.Done {
		return err
	}
	rec = s.record(deadline)
	rec.Output, rec.Failure = p.Output, p.Failure
	rec.NoEffect = rec.NoEffect || s.polls() && p.Failure != nil
	if err := l.finish(s, rec); err != nil || s.Kind != KindAwait {
		return err
	}
	switch {
	case p.Failure == nil:
		l.emit(s, event.Event{Kind: event.StepFinished, Text: "signal received", Data: p.Output})
	case p.Failure.Code == Lost:
		l.emit(s, event.Event{Kind: event.StepFinished, Error: p.Failure.Message})
	}
	return nil
}

// await reads what s waits for, and gives s its sum.
func (s *Step) await(w *Wait) error {
	err := json.Unmarshal(s.Input, w)
	if err == nil {
		err = s.untyped(*w)
	}
	if err != nil {
		return fmt.Errorf("step %s: decoding await: %w", s.Path, err)
	}
	return nil
}

// polls reports whether s is an await that does not wait.
func (s Step) polls() bool {
	d, err := s.patience()
	return s.Kind == KindAwait && err == nil && d < 0
}

// A contest counts the steps in the branches of a race, nested races included.
type contest struct {
	mu      sync.Mutex
	working int // branches that have not ended and do not wait for a person
	waiting int // that do
	settled int // of the waiting, that have found no answer since the last change
	changes int
}

func (c *contest) change(working, waiting int) {
	if c == nil {
		return
	}
	c.mu.Lock() //flowvet:ignore no outcome depends on it, only when the run waits
	c.working, c.waiting = c.working+working, c.waiting+waiting
	c.settled, c.changes = 0, c.changes+1
	c.mu.Unlock() //flowvet:ignore see above
}

// fork has n branches at work instead of one; each calls ended at its end, and after the
// last it is one again.
func (c *contest) fork(n int) (ended func()) {
	var left atomic.Int64
	left.Store(int64(n)) //flowvet:ignore see above
	c.change(n-1, 0)
	return func() {
		if left.Add(-1) > 0 { //flowvet:ignore see above
			c.change(-1, 0)
		}
	}
}

// A question is one that a branch waits for an answer to.
type question struct {
	changes int
	settled bool
}

// stuck reports whether no branch can go on without an answer: none is at work, and all
// that wait have looked for one since the last was.
func (c *contest) stuck(q *question) bool {
	if c == nil {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.working > 0:
		return false
	case q.changes != c.changes:
		q.changes, q.settled = c.changes, false // look once more
	case !q.settled:
		q.settled = true
		c.settled++
	}
	return q.settled && c.settled == c.waiting
}

// Saga runs f and, if it fails, takes back what f has done: the actions it gave
// to its Undo run as part of the workflow, the last one first. Each is a call
// of its own in the journal, so that a run killed among them goes on with the
// next one.
//
//	trip, err := flow.Saga(r, func(r *flow.Run, u *flow.Undo) (Trip, error) {
//		u.Add("cancel the flight", func(r *flow.Run) error { return cancel(r, "flight") })
//		if err := book(r, "flight"); err != nil {
//			return Trip{}, err
//		}
//		u.Add("cancel the room", func(r *flow.Run) error { return cancel(r, "room") })
//		return Trip{}, book(r, "room")
//	})
//
// The error is that of f; those of actions that fail are joined to it, and the
// actions before them run all the same. A result that f gives with its error
// is kept. A run that only stops, because it was interrupted or cancelled, is
// parked or diverged, takes nothing back. A saga that has taken back its actions
// is not reopened: see [Reopener].
func Saga[Out any](r *Run, f func(*Run, *Undo) (Out, error)) (Out, error) {
	u := &Undo{run: r}
	out, err := f(r, u)
	if err == nil {
		return out, nil
	}
	errs := []error{err}
	for _, a := range slices.Backward(u.actions) {
		begun := false
		_, err := Call(r, a.name, func(r *Run, _ struct{}) (struct{}, error) {
			begun = true
			return struct{}{}, a.do(r)
		}, struct{}{})
		if !begun {
			break // the run has stopped, and performs nothing more
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", a.name, err))
		}
	}
	if len(errs) == 1 {
		return out, err
	}
	return out, errors.Join(errs...)
}

// An Undo collects what a saga takes back. It belongs to the Run that the saga
// was begun on: a branch of Map has a saga of its own, and what the branches
// give back is added once Map has returned.
type Undo struct {
	run     *Run
	actions []action
}

type action struct {
	name string
	do   func(*Run) error
}

// Add registers an action that undoes the next step. Call it before that step: a step
// that failed, or was interrupted, may have had its effect, so do must accept that there
// is nothing to undo. After a [Load], add the actions for everything that the state
// records as done.
func (u *Undo) Add(name string, do func(*Run) error) {
	if u.run.forked {
		panic("flow: Undo used inside Map; begin a saga in the branch")
	}
	u.actions = append(u.actions, action{name, do})
}
