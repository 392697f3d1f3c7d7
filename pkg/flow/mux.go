package flow

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/adroit-run/adroit/pkg/event"
)

// A Route says how steps of one kind are performed.
type Route struct {
	// Handler performs steps in the real world. A returned *Failure says whether to
	// try again; any other error is final. It must stop soon after ctx ends.
	Handler  func(ctx context.Context, s Step, emit event.Sink) (json.RawMessage, error)
	Timeout  time.Duration // of one attempt; zero means ten minutes
	Attempts int           // when a failure is retryable; zero means one
	Backoff  time.Duration // before the second attempt, doubling, at most two minutes; zero means half a second
	// Patience is how long a step is tried whose failures are [Failure.Busy]; zero
	// counts them as any other.
	Patience time.Duration
	// Safe says whether a step that was interrupted may be performed again.
	// Nil means no.
	Safe func(Step) bool
	// New is called before a step is performed that is not repeatable and that the
	// journal did not know. Its error stops the run: the step is known elsewhere, so
	// the journal has gone back. May be nil.
	New func(ctx context.Context, s Step) error
	// Settle takes back what an interrupted step did that is not Safe, and
	// reports whether it may be performed again then. Nil means no.
	Settle func(ctx context.Context, s Step) (bool, error)
	// Describe gives one line for people about a finished step, and data for
	// its event. May be nil.
	Describe func(s Step, out json.RawMessage) (string, json.RawMessage)
	// Recount gives what the event of a recalled step carries: what counts in
	// accounts. May be nil.
	Recount func(s Step, out json.RawMessage) json.RawMessage
}

const (
	maxBackoff = 2 * time.Minute
	maxBusy    = 15 * time.Second // between attempts where the other side says nothing
)

// Next reports whether a step is tried again that failed with f, and after how
// long, without jitter. n is how many attempts of its kind, busy or not, have
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

// settled is Again for the engine: a step that is not safe may be made so.
func (rt Route) settled(ctx context.Context, s Step) (bool, error) {
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
