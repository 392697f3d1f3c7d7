package jobs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/adroit-run/adroit/internal/stored"
	"github.com/adroit-run/adroit/internal/system/exhaustion"
	"github.com/adroit-run/adroit/pkg/flow"
)

// A blockedError is a job this program cannot run, which is not the job's
// fault.
type blockedError struct{ reason string }

func (e *blockedError) Error() string  { return e.reason }
func (e *blockedError) Status() string { return string(Blocked) }
func (e *blockedError) Reason() string { return e.reason }

// A setupError is a Mux that could not be made. A job that had begun is kept
// resumable, and one that the host is to blame for: what it needs may come back.
type setupError struct {
	err   error
	begun bool
}

func (e *setupError) Error() string  { return e.err.Error() }
func (e *setupError) Unwrap() error  { return e.err }
func (e *setupError) Reason() string { return e.err.Error() }
func (e *setupError) Status() string {
	if e.begun || exhaustion.Of(e.err) != "" || errors.Is(e.err, syscall.EIO) || errors.As(e.err, new(*flow.InfrastructureError)) {
		return string(Interrupted)
	}
	return string(Failed)
}

// A storeError is a store that failed the run: the job is not at fault and
// can be resumed.
type storeError struct{ err error }

func (e *storeError) Error() string { return "the store failed: " + e.err.Error() }
func (e *storeError) Unwrap() error { return e.err }

// A panicError is a workflow that panicked.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("the workflow panicked: %v", e.value) }

// verdict returns how a run ended, as a status and a sentence. cause is why its
// context ended, nil if it did not.
func verdict(err, cause error) (Status, string) {
	var own interface {
		error
		Status() string
		Reason() string
	}
	parked, diverged, crash := new(flow.ParkedError), new(flow.DivergedError), new(panicError)
	unknown := new(stored.UnknownError)
	store, infra, step := new(storeError), new(flow.InfrastructureError), new(flow.StepError)
	switch {
	case errors.As(cause, &store):
		return Interrupted, fmt.Sprintf("%s; put that right, then resume it", store)
	case errors.As(err, &infra):
		return Interrupted, fmt.Sprintf("%s; put that right, then resume it", infra)
	case err == nil:
		return Done, ""
	case errors.As(err, &unknown):
		return Blocked, err.Error()
	case errors.As(err, &own):
		if status := Status(own.Status()); status.Known() {
			return status, own.Reason()
		}
		return Failed, fmt.Sprintf("its workflow ended with the status %q, which there is not: %s", own.Status(), own.Reason())
	case errors.As(err, &parked):
		return Waiting, awaited(parked.Signals)
	case errors.As(err, &diverged):
		return Blocked, diverged.Error()
	case errors.As(err, &crash):
		return Failed, crash.Error()
	case errors.Is(cause, errCancelled), errors.Is(err, errCancelled):
		return Cancelled, errCancelled.Error()
	case cause != nil && errors.Is(cause, context.Canceled):
		return Interrupted, "interrupted"
	case cause != nil:
		return Interrupted, cause.Error()
	case errors.As(err, &step):
		return Failed, step.Message
	}
	return Failed, err.Error()
}

// awaited lists the signals a job waits for, without the steps that some of
// their names end with.
func awaited(signals []string) string {
	names := make([]string, len(signals))
	for i, s := range signals {
		names[i], _, _ = strings.Cut(s, "@")
	}
	if len(names) == 1 {
		return "waits for the signal " + names[0]
	}
	return "waits for one of the signals " + strings.Join(names, ", ")
}
