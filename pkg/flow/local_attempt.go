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
		err := exhaustion.Retry(l.waiting(s), func() (err error) { safe, err = rt.settled(l.Ctx, s); return err })
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
			return nil, s.late()
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
			err = s.late()
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
		settled, serr := rt.settled(l.Ctx, s)
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

// waiting is the context of what is done around s and may wait for the host.
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
