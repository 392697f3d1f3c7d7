package flow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"time"

	"github.com/adroit-run/adroit/internal/system/exhaustion"
	"github.com/adroit-run/adroit/pkg/event"
)

// perform has a handler perform s, as often as its route allows, and journals
// the outcome. again is set for a step that was interrupted.
func (l *Local) perform(s Step, again bool) (*Record, error) {
	rec, rt, start := s.record(time.Time{}), l.Mux[s.Kind], time.Now()
	if again {
		var safe bool
		err := exhaustion.Retry(l.waiting(s), func() (err error) { safe, err = rt.repeatable(l.Ctx, s); return err })
		if err != nil {
			return nil, &InfrastructureError{fmt.Errorf("step %s: settling what was interrupted: %w", s.Path, err)}
		}
		if !safe {
			rec.Failure = &Failure{Code: Interrupted, Message: "interrupted: it may or may not have happened", Undecided: true}
			return rec, l.finished(rt, s, rec, start)
		}
	}
	if !again && !s.Repeatable && rt.New != nil {
		if err := exhaustion.Retry(l.waiting(s), func() error { return rt.New(l.Ctx, s) }); err != nil {
			return nil, &InfrastructureError{err}
		}
	}
	l.emit(s, event.Event{Kind: event.StepStarted})
	var tries retrier
	var host exhaustion.Wait
	for {
		out, err := l.attempt(rt, s)
		if exhaustion.Of(err) != "" && l.Ctx.Err() == nil {
			if err = l.awaitHost(rt, s, &host, err); err == nil {
				continue
			}
		}
		f := asFailure(err)
		if f != nil && tries.again(l, rt, s, f) {
			continue
		}
		if err != nil && l.Ctx.Err() != nil {
			// Stopped, not failed: the step stays begun, so that the journal
			// never records a cancellation as an outcome.
			return nil, context.Cause(l.Ctx)
		}
		if infra := new(InfrastructureError); errors.As(err, &infra) {
			return nil, infra
		}
		if rec.Output = out; f != nil {
			failure := *f
			failure.Took = time.Since(start).Truncate(time.Second)
			rec.Output, rec.Failure = nil, &failure
		}
		l.hook("performed", s)
		return rec, l.finished(rt, s, rec, start)
	}
}

// attempt performs s once, in the time that its route and the bounds of the run
// leave. A panic of the handler is a failure: one bad tool never takes the other
// jobs of the process down.
func (l *Local) attempt(rt Route, s Step) (out json.RawMessage, err error) {
	if rt.Handler == nil {
		return nil, s.noHandler()
	}
	timeout := rt.Timeout
	if timeout == 0 {
		timeout = 10 * time.Minute
	}
	rest, bounded := s.bound.left(time.Now())
	if bounded = bounded && rest < timeout; bounded {
		if timeout = rest; rest <= 0 {
			return nil, s.timeoutFailure()
		}
	}
	if s.bound.isLost() {
		return nil, errLost
	}
	race, stop := s.bound.context(l.Ctx)
	defer stop()
	ctx, cancel := context.WithTimeout(exhaustion.WithNotice(race, func(what exhaustion.Resource, err error) { l.hostWaits(s, what, err) }), timeout)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			l.emit(s, event.Event{Kind: event.Note, Text: fmt.Sprintf("panic: %v\n%s", p, debug.Stack())})
			err = &Failure{Code: Panicked, Message: fmt.Sprintf("panic: %v", p)}
		}
		switch {
		case err == nil || ctx.Err() == nil || l.Ctx.Err() != nil:
		case race.Err() != nil:
			err = errLost
		case bounded:
			err = s.timeoutFailure()
		default:
			err = &Failure{Code: TimedOut, Message: fmt.Sprintf("timed out after %s", timeout), Retryable: true}
		}
	}()
	return rt.Handler(ctx, s, func(ev event.Event) { l.emit(s, ev) })
}

// hostData is the data of the event of a step that waits for the host.
type hostData struct {
	Waiting exhaustion.Resource `json:"waiting"`
}

// awaitHost waits before s is performed again, because the host has run out of
// something. It is an error if s may not be performed again, or after a long time: the
// step stays open then, and the job can be resumed.
func (l *Local) awaitHost(rt Route, s Step, w *exhaustion.Wait, err error) error {
	may := exhaustion.IsBefore(err)
	if !may {
		settled, serr := rt.repeatable(l.Ctx, s)
		if may = settled; serr != nil {
			err = errors.Join(err, serr)
		}
	}
	if !may {
		return &InfrastructureError{err}
	}
	first := w.First()
	d, ok := w.Next(exhaustion.Patience(l.Ctx))
	if !ok {
		return &InfrastructureError{w.Over(err)}
	}
	if first {
		l.hostWaits(s, exhaustion.Of(err), err)
	}
	ctx, stop := s.bound.context(l.Ctx)
	defer stop()
	_ = sleep(ctx, d+rand.N(d)) // stopped, or lost: the next attempt says so
	return nil
}

// hostWaits reports that s waits for the host.
func (l *Local) hostWaits(s Step, what exhaustion.Resource, err error) {
	ev := event.Event{Kind: event.StepRetried, Error: err.Error(), Text: "waiting: " + what.Words()}
	ev.Data, _ = json.Marshal(hostData{what}) // a string
	l.emit(s, ev)
}

// waiting returns the context for work around s that may wait for the host.
func (l *Local) waiting(s Step) context.Context {
	return exhaustion.WithNotice(l.Ctx, func(what exhaustion.Resource, err error) { l.hostWaits(s, what, err) })
}

// A retrier decides whether a step is tried again.
type retrier struct {
	failed int // attempts, not counting busy ones
	busy   int
	since  time.Time // of the first busy one
}

// again waits before the next attempt. It reports false if there is none, or
// the run is stopped meanwhile.
func (t *retrier) again(l *Local, rt Route, s Step, f *Failure) bool {
	now := time.Now()
	waits := f.Busy && rt.Patience > 0
	n := &t.failed
	if waits {
		if n = &t.busy; t.busy == 0 {
			t.since = now
		}
	}
	*n++
	waited := now.Sub(t.since)
	d, ok := rt.Next(f, *n, waited)
	if !ok || l.Ctx.Err() != nil {
		if waits {
			f.Message += fmt.Sprintf("; it was waited for, %s of at most %s", waited.Round(time.Second), rt.Patience)
		}
		return false
	}
	d = max(d-rand.N(d/2+1), min(f.After, d))
	text := fmt.Sprintf("attempt %d of %d in %s", *n+1, rt.Attempts, d.Round(time.Millisecond))
	if waits {
		text = fmt.Sprintf("waiting for it, %s of at most %s; asked again in %s", waited.Round(time.Second), rt.Patience, d.Round(time.Millisecond))
	}
	l.emit(s, event.Event{Kind: event.StepRetried, Error: f.Message, Text: text})
	ctx, stop := s.bound.context(l.Ctx)
	defer stop()
	return sleep(ctx, d) == nil || l.Ctx.Err() == nil // lost: the next attempt says so
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// A Failure is a failed step as data: the same live and replayed. As an error
// a handler returns, it says whether the engine may try again.
type Failure struct {
	Code      string `json:"code"`
	Message   string `json:"message"`
	Retryable bool   `json:"retryable,omitempty"`
	// After is the least time to wait before the next attempt.
	After time.Duration `json:"-"`
	// Busy means that the other side serves nobody now and may do so in minutes:
	// [Route.Patience] bounds how long it is asked again, not Attempts.
	Busy bool `json:"-"`
	// Took is the duration of all attempts together, in whole seconds: a failed attempt
	// takes time, too.
	Took time.Duration `json:"took_ns,omitempty"`
	// Limit is the bound that was exceeded, in the unit that goes with Code, 0 if the other
	// side did not name it.
	Limit int `json:"limit,omitempty"`
	// Undecided is set with Interrupted: the caller of the step decides whether it is
	// performed again. It is missing in journals of versions in which each workflow
	// decided on its own; these journals contain the decision.
	Undecided bool `json:"undecided,omitempty"`
}

func (f *Failure) Error() string { return f.Message }

// Codes of failures that engines produce themselves.
const (
	Interrupted = "interrupted" // the runner died while performing; it may or may not have happened
	TimedOut    = "timed_out"
	Panicked    = "panicked"
	Failed      = "failed" // a handler's plain error
)

// Lost is the code of a step of a branch of [Race] that another branch has made
// pointless.
const Lost = "lost"

var errLost = &Failure{Code: Lost, Message: "another attempt was first"}

func asFailure(err error) *Failure {
	if err == nil {
		return nil
	}
	if f, ok := errors.AsType[*Failure](err); ok {
		return f
	}
	return &Failure{Code: Failed, Message: err.Error()}
}

// A StepError is the error that a workflow gets for a failed step, live or replayed.
type StepError struct {
	Path, Kind, Name string
	Failure
}

func (e *StepError) Error() string {
	return fmt.Sprintf("step %s (%s %s): %s", e.Path, e.Kind, e.Name, e.Message)
}

// An InfrastructureError reports that what steps are performed with failed, and
// not the step: a store, a ledger, a disk. A handler returns it to end the run
// without an outcome. The step stays open, and the job can be resumed once
// the cause is put right; no workflow, and no model, sees the failure.
type InfrastructureError struct{ Err error }

func (e *InfrastructureError) Error() string { return e.Err.Error() }

func (e *InfrastructureError) Unwrap() error { return e.Err }

// A Route configures how steps of one kind are performed.
type Route struct {
	// Handler performs steps in the real world. A returned *Failure says whether to
	// try again; any other error is final. It must stop soon after ctx ends.
	Handler  func(ctx context.Context, s Step, emit event.Sink) (json.RawMessage, error)
	Timeout  time.Duration // of one attempt; zero means ten minutes
	Attempts int           // when a failure is retryable; zero means one
	Backoff  time.Duration // before the second attempt, doubling, at most two minutes; zero means half a second
	// Patience bounds the time for which a step is retried whose failures are
	// [Failure.Busy]; zero counts them like any other failure.
	Patience time.Duration
	// Safe reports whether a step that was interrupted may be performed again. Nil means
	// that no step may.
	Safe func(Step) bool
	// New is called before a step is performed that is not repeatable and that the
	// journal did not know. Its error stops the run: the step is known elsewhere, so
	// the journal has gone back. May be nil.
	New func(ctx context.Context, s Step) error
	// Settle undoes the effect of an interrupted step that is not Safe, and reports
	// whether the step may then be performed again. Nil means that no step may.
	Settle func(ctx context.Context, s Step) (bool, error)
	// Describe gives one line for people about a finished step, and data for
	// its event. May be nil.
	Describe func(s Step, out json.RawMessage) (string, json.RawMessage)
	// Recount returns the data of the event of a recalled step, for accounting. May be
	// nil.
	Recount func(s Step, out json.RawMessage) json.RawMessage
}

const (
	maxBackoff = 2 * time.Minute
	maxBusy    = 15 * time.Second // between attempts where the other side says nothing
)

// Next reports whether a step is tried again that failed with f, and after how
// long, without jitter. n counts the attempts of its kind, busy or not, that have
// failed; waited is the time since the first of them. Engines call it.
func (rt Route) Next(f *Failure, n int, waited time.Duration) (wait time.Duration, again bool) {
	base := rt.Backoff
	if base == 0 {
		base = 500 * time.Millisecond
	}
	base <<= min(n-1, 16)
	switch {
	case f == nil || !f.Retryable:
		return 0, false
	case f.Busy && rt.Patience > 0:
		wait = max(min(base, maxBusy), f.After)
		return wait, waited+wait <= rt.Patience
	}
	return max(min(base, maxBackoff), min(f.After, maxBackoff)), n < rt.Attempts
}

// Again reports whether s may be performed again after an interruption.
func (rt Route) Again(s Step) bool { return rt.Safe != nil && rt.Safe(s) }

// repeatable is Again for the engine: Settle may make an unsafe step safe.
func (rt Route) repeatable(ctx context.Context, s Step) (bool, error) {
	if rt.Handler == nil || rt.Again(s) {
		return true, nil
	}
	if rt.Settle == nil {
		return false, nil
	}
	return rt.Settle(ctx, s)
}

// Always is a Safe for steps without side effects.
func Always(Step) bool { return true }

// A Mux serves steps by kind.
type Mux map[string]Route

// Knows reports whether an engine with m performs steps of a kind, or records them itself.
func (m Mux) Knows(kind string) bool { return m[kind].Handler != nil || roles[kind] != roleHandled }

// Serve performs s once.
func (m Mux) Serve(ctx context.Context, s Step, emit event.Sink) (json.RawMessage, error) {
	rt := m[s.Kind]
	if rt.Handler == nil {
		return nil, s.noHandler()
	}
	return rt.Handler(ctx, s, emit)
}

func (s Step) noHandler() *Failure {
	return &Failure{Code: Failed, Message: fmt.Sprintf("no handler for %q steps", s.Kind)}
}
