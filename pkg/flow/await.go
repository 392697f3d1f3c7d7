package flow

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
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
		if s.polling {
			return noWait, nil
		}
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
	if s.polling {
		w = Wait{Signals: []string{s.Name}, Timeout: noWait}
	} else if err := json.Unmarshal(s.Input, &w); err != nil {
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
		case <-time.After(pollSignals):
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
// an output or a failure if such steps have an outcome.
type Past struct {
	Step   Step            `json:"step"`
	Output json.RawMessage `json:"output,omitempty"`
	// Failure of an await that nobody answered in time, or that belongs to a lost race.
	Failure *Failure `json:"failure,omitempty"`
	// Log names the sender of an await's signal, where the journal did not get it from
	// them.
	Log *event.Event `json:"log,omitempty"`
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
	if s.Kind == KindAwait && p.Failure == nil {
		if got, err := l.received(s, p); got || err != nil {
			return err
		}
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

// A question is an open question of a branch.
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
// The error comes from f; errors of failing actions are joined to it, and the
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

// A Signal is a named message to a waiting job.
type Signal struct {
	Name  string          `json:"name"`
	Value json.RawMessage `json:"value,omitempty"`
	// Question is the path of the awaiting step that it is meant for, for a store: it
	// refuses an answer to an answered one. It is not kept.
	Question string `json:"-"`
	// Log, if not nil, is appended to the event log of the job together with the signal.
	Log *event.Event `json:"-"`
	// Sent is the time of sending, for a store, which takes its own time if it is zero. It
	// identifies the signal where a job gets it in two ways.
	Sent time.Time `json:"-"`
}

// A SignalError reports a signal whose value is not of the type that the step
// awaits. It was discarded; the step still waits.
type SignalError struct {
	Signal Signal
	Err    error
}

func (e *SignalError) Error() string {
	return fmt.Sprintf("the signal %s was refused: %s; send it again with another value", e.Signal.Name, e.Err)
}

func (e *SignalError) Unwrap() error { return e.Err }

// A Wait is the input of an awaiting step: the signals to wait for, and for how long.
// About describes the question to the answering person.
type Wait struct {
	Signals []string        `json:"signals"`
	About   json.RawMessage `json:"about,omitempty"`
	Timeout time.Duration   `json:"timeout,omitempty"` // zero waits for ever, negative not at all
	// Type is the JSON type of the value: string, boolean, number, array or object. Empty
	// means any. It does not identify the step.
	Type string `json:"type,omitempty"`
}

// noWait is the Timeout of a Wait for signals that were sent before it.
const noWait time.Duration = -1

// Accepts reports why a value cannot be sent to w, nil if its type permits it.
// No value at all is accepted.
func (w Wait) Accepts(value json.RawMessage) error {
	if got := jsonType(value); got != "" && got != "null" && w.Type != "" && got != w.Type {
		return fmt.Errorf("%s is of type %s, and type %s is awaited", value, got, w.Type)
	}
	return nil
}

// jsonType is the JSON type of a value, empty if there is none.
func jsonType(value json.RawMessage) string {
	var v any
	if json.Unmarshal(value, &v) != nil {
		return ""
	}
	switch v.(type) {
	case nil:
		return "null"
	case string:
		return "string"
	case bool:
		return "boolean"
	case float64:
		return "number"
	case []any:
		return "array"
	}
	return "object"
}

// typeOf is the JSON type that values of t have, empty if they may have several.
func typeOf(t reflect.Type) string {
	if p := reflect.PointerTo(t); p.Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return ""
	}
	switch t.Kind() {
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64,
		reflect.Float32, reflect.Float64:
		return "number"
	case reflect.Struct, reflect.Map:
		return "object"
	}
	return ""
}

// Accepts reports why s cannot have sig as its outcome, nil if it can. A
// [Journal] discards a signal that is not accepted.
func (s Step) Accepts(sig Signal) error {
	if s.accept == nil || len(sig.Value) == 0 {
		return nil
	}
	if err := s.accept(sig.Value); err != nil {
		return &SignalError{sig, err}
	}
	return nil
}

// Await waits until someone signals the job by that name. Signals queue by name and each
// is consumed once, in the order sent. A signal whose value does not decode to Out is
// refused, and Await goes on waiting. A timeout is a *StepError with code TimedOut; a
// timeout of zero waits for ever. about describes the question to the person who answers,
// in one value or several.
func Await[Out any](r *Run, signal string, timeout time.Duration, about ...any) (Out, error) {
	var out Out
	w := Wait{Signals: []string{signal}, Timeout: timeout, Type: typeOf(reflect.TypeFor[Out]())}
	if len(about) > 0 {
		var question any = about
		if len(about) == 1 {
			question = about[0]
		}
		b, err := json.Marshal(question)
		if err != nil {
			return out, fmt.Errorf("await %s: encoding question: %w", signal, err)
		}
		w.About = b
	}
	s, err := await(r, w, func(value json.RawMessage) error {
		if err := w.Accepts(value); err != nil {
			return err
		}
		return json.Unmarshal(value, new(Out))
	})
	if err != nil || len(s.Value) == 0 {
		return out, err
	}
	if err := json.Unmarshal(s.Value, &out); err != nil {
		return out, fmt.Errorf("signal %s: decoding value: %w", signal, err)
	}
	return out, nil
}

// AwaitAny waits for the first signal that has one of the names. about describes the
// question to the person who answers.
func AwaitAny(r *Run, about any, timeout time.Duration, names ...string) (Signal, error) {
	w := Wait{Signals: names, Timeout: timeout}
	if about != nil {
		b, err := json.Marshal(about)
		if err != nil {
			return Signal{}, fmt.Errorf("await %v: encoding question: %w", names, err)
		}
		w.About = b
	}
	return await(r, w, nil)
}

func await(r *Run, w Wait, accept func(json.RawMessage) error) (Signal, error) {
	s := Step{Kind: KindAwait, Name: strings.Join(w.Signals, "|"), Keep: w.Timeout >= 0, accept: accept, polling: w.Timeout == noWait && len(w.Signals) == 1}
	s, err := r.step(s, w)
	if err == nil {
		err = s.untyped(w)
	}
	if err != nil {
		return Signal{}, err
	}
	res, err := r.engine.Do(s)
	return output[Signal](s, res, err)
}

// untyped gives s, which waits for w, the sum that it has without the type of the value: a
// journal from before there were types knows the step without it.
func (s *Step) untyped(w Wait) error {
	if w.Type == "" {
		return nil
	}
	w.Type = ""
	b, err := json.Marshal(w)
	if err != nil {
		return fmt.Errorf("await %v: encoding: %w", w.Signals, err)
	}
	s.sum = Step{Kind: s.Kind, Name: s.Name, Input: b}.Sum()
	return nil
}

// Drain takes all signals with a name that were sent already. It asks within the
// scope of the step that comes next, which must have none of its own: steps have
// the same paths whether there are signals or not. taken counts those taken there
// before: a workflow that makes a checkpoint between two calls keeps the number in it, so
// that no two signals have one path.
func Drain(r *Run, name string, taken int) ([]Signal, error) {
	within := &Run{job: r.job, engine: r.engine, scope: r.Next() + ".", next: taken, known: r.known, bound: r.bound}
	var all []Signal
	for {
		s, ok, err := Poll(within, name)
		if err != nil || !ok {
			return all, err
		}
		all = append(all, s)
	}
}

// Poll takes a signal with one of the names that was sent already, and does not
// wait for one. A workflow asks between two pieces of work whether it is to go
// on.
func Poll(r *Run, names ...string) (s Signal, ok bool, err error) {
	s, err = AwaitAny(r, nil, noWait, names...)
	if se, ok := errors.AsType[*StepError](err); ok && se.Code == TimedOut {
		return Signal{}, false, nil
	}
	return s, err == nil, err
}
