package flow

import (
	"errors"
	"fmt"
	"time"
)

// A Failure is a failed step as data: the same live and replayed. As an error
// a handler returns, it says whether the engine may try again.
type Failure struct {
	Code      string `json:"code"`
	Message   string `json:"message"`
	Retryable bool   `json:"retryable,omitempty"`
	// After is how long to wait at least before the next attempt.
	After time.Duration `json:"-"`
	// Busy means that the other side serves nobody now and may do so in minutes:
	// [Route.Patience] bounds how long it is asked again, not Attempts.
	Busy bool `json:"-"`
	// Took is how long the step was tried, all attempts together, in whole
	// seconds: what has failed has taken its time, too.
	Took time.Duration `json:"took_ns,omitempty"`
	// Limit is the bound that was exceeded, in the unit that goes with Code, 0 if the other
	// side did not name it.
	Limit int `json:"limit,omitempty"`
	// Undecided is set with Interrupted: whoever asked for the step decides whether
	// it is performed again. Journals of versions in which each workflow did as it
	// liked lack it, and what they did next stands there.
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

// lost is the code of a step of a branch of [Race] that another branch has made
// pointless.
const lost = "lost"

var errLost = &Failure{Code: lost, Message: "another attempt was first"}

func asFailure(err error) *Failure {
	if err == nil {
		return nil
	}
	if f, ok := errors.AsType[*Failure](err); ok {
		return f
	}
	return &Failure{Code: Failed, Message: err.Error()}
}

// A StepError is how a failed step looks to a workflow, live or replayed.
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
