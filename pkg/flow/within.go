package flow

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/adroit-run/adroit/internal/flow/stepkind"
	"github.com/adroit-run/adroit/pkg/event"
)

// Within runs f as part of r and bounds the time that its steps may take, all
// together: what is under way when the time is over fails with the code
// [TimedOut], and so does every step of f after it. Time that passes while
// people are waited for, and while nobody runs the job, does not count: a run
// that is taken over by another process gets its time anew. Zero is no bound.
//
// Engines without a clock of their own for it bound each step by d.
func Within[Out any](r *Run, d time.Duration, f func(*Run) (Out, error)) (Out, error) {
	if d <= 0 {
		return f(r)
	}
	before := r.bound
	r.bound = &bound{d: d, up: before}
	defer func() { r.bound = before }()
	return f(r)
}

// A bound is the time that a part of a run may take. Its clock is started by
// the first step that is performed rather than recalled. It is safe for
// concurrent use: branches share it.
type bound struct {
	d  time.Duration
	up *bound

	lost context.Context // of a race; nil for a time
	end  context.CancelFunc
	race *contest

	mu    sync.Mutex
	until time.Time
}

// left is what remains of the tightest bound; ok is false if there is none.
func (b *bound) left(now time.Time) (d time.Duration, ok bool) {
	for ; b != nil; b = b.up {
		if b.lost != nil {
			continue
		}
		b.mu.Lock()
		if b.until.IsZero() {
			b.until = now.Add(b.d)
		}
		rest := b.until.Sub(now)
		b.mu.Unlock()
		if !ok || rest < d {
			d, ok = rest, true
		}
	}
	return d, ok
}

// extend is for time that does not count.
func (b *bound) extend(d time.Duration) {
	for ; b != nil; b = b.up {
		b.mu.Lock()
		if !b.until.IsZero() {
			b.until = b.until.Add(d)
		}
		b.mu.Unlock()
	}
}

// least is the shortest of the bounds, zero if there are none.
func (b *bound) least() (d time.Duration) {
	for ; b != nil; b = b.up {
		if b.lost == nil && (d == 0 || b.d < d) {
			d = b.d
		}
	}
	return d
}

// late is the failure of a step for which there was no time left.
func (s Step) late() *Failure {
	return &Failure{Code: TimedOut, Message: "timed out: it may take " + s.Within.String()}
}

// Emit emits an event of this kind, once. data is encoded as JSON.
func (r *Run) Emit(kind event.Kind, text string, data any) error {
	_, err := Do[struct{}](r, stepkind.Note, text, noteInput{kind, data})
	return err
}

// noteInput is the input of a note that is an event of a kind of its own.
type noteInput struct {
	Kind event.Kind `json:"kind"`
	Data any        `json:"data,omitempty"`
}

// note is the event of a step of kind stepkind.Note.
func (s Step) note() event.Event {
	var t struct {
		Kind event.Kind
		Data json.RawMessage
	}
	if json.Unmarshal(s.Input, &t) != nil || t.Kind == "" {
		ev := event.Event{Kind: event.Note, Text: s.Name}
		if string(s.Input) != "null" {
			ev.Data = s.Input
		}
		return ev
	}
	return event.Event{Kind: t.Kind, Text: s.Name, Data: t.Data}
}
