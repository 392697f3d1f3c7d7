package adroit

import "github.com/adroit-run/adroit/internal/apierr"

type (
	// An Error is what went wrong, in a form that survives JSON: Kind, Message, and in
	// Hint what helps. It unwraps to the errors of pkg/jobs of its kind.
	Error = apierr.Error
	// A Kind is what an error is about, for callers that branch on it.
	Kind = apierr.Kind
)

// Kinds of errors.
const (
	Invalid     = apierr.Invalid  // the request cannot be meant
	NotFound    = apierr.NotFound // there is no such job, agent, artifact …
	Held        = apierr.Held     // another runner has the job
	Ended       = apierr.Ended    // the job has ended
	Running     = apierr.Running  // the job is running
	Blocked     = apierr.Blocked  // the job is blocked
	Failed      = apierr.Failed   // all else
	Interrupted = apierr.Interrupted
)

// asError is AsError for a result of type error.
func asError(err error) error {
	if err == nil {
		return nil
	}
	return apierr.AsError(err)
}
