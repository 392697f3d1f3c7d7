package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/flow"
)

// A blockedError is a job this program cannot run, which is not the job's
// fault.
type blockedError struct{ reason string }

func (e *blockedError) Error() string  { return e.reason }
func (e *blockedError) Status() string { return string(Blocked) }
func (e *blockedError) Reason() string { return e.reason }

// A setupError is a Mux that could not be made. A job that had begun is kept
// resumable: what it needs may come back.
type setupError struct {
	err   error
	begun bool
}

func (e *setupError) Error() string  { return e.err.Error() }
func (e *setupError) Unwrap() error  { return e.err }
func (e *setupError) Reason() string { return e.err.Error() }
func (e *setupError) Status() string {
	if e.begun {
		return string(Interrupted)
	}
	return string(Failed)
}

// verdict returns how a run ended, as a status and a sentence. cause is why its
// context ended, nil if it did not.
func verdict(err, cause error) (Status, string) {
	var own interface {
		error
		Status() string
		Reason() string
	}
	parked, diverged, crash := new(flow.ParkedError), new(flow.DivergedError), new(panicError)
	store, infra, step := new(storeError), new(flow.InfrastructureError), new(flow.StepError)
	switch {
	case errors.As(cause, &store):
		return Interrupted, fmt.Sprintf("%s; put that right, then resume it", store)
	case errors.As(err, &infra):
		return Interrupted, fmt.Sprintf("%s; put that right, then resume it", infra)
	case err == nil:
		return Done, ""
	case errors.As(err, &own):
		return Status(own.Status()), own.Reason()
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

// finish records how the run ended. ctx must not be the one that ended it.
func (r *run) finish(ctx context.Context, out json.RawMessage, err, cause error) (*Job, error) {
	j := *r.job
	j.Status, j.Reason = verdict(err, cause)
	if len(out) > 0 && string(out) != "null" {
		j.Output = out
	}
	parked := new(flow.ParkedError)
	if j.Status != Waiting || !errors.As(err, &parked) {
		parked = nil
	}
	fin := final(&j, parked)
	if j.Status == Done {
		var out struct{ Outcome struct{ Reason string } }
		if json.Unmarshal(j.Output, &out) == nil {
			j.Reason, fin.Reason = out.Outcome.Reason, out.Outcome.Reason
		}
	}
	if r.rec.parts.Load() || fin.Agents > 0 || fin.bare() {
		a := new(UsageReport)
		for ev, err := range r.m.Store.Events(ctx, j.ID, 0, false) {
			if err != nil {
				return nil, errors.Join(fmt.Errorf("%s: reading its events: %w", j.ID, err), cause)
			}
			a.Add(ev)
		}
		fin.addUsage(a)
	}
	data, merr := json.Marshal(fin)
	if merr != nil {
		return nil, fmt.Errorf("%s: encoding its outcome: %w", j.ID, merr)
	}
	last := event.Event{Job: j.ID, Time: r.m.now(), Kind: event.JobFinished, Text: j.Reason, Data: data}
	if j.Status == Waiting {
		last.Kind = event.JobWaiting
	}
	if r.m.Clean != nil {
		last = r.m.Clean(last)
		j.Reason = last.Text
	}
	if err := r.journal.FinishJob(ctx, &j, &last); err != nil {
		// Left as it is, the job shows as interrupted once the lease is over.
		return nil, errors.Join(fmt.Errorf("%s: recording how it ended: %w", j.ID, err), cause)
	}
	if r.o.Emit != nil {
		r.o.Emit(last)
	}
	return find(ctx, r.m.Store, Query{ID: j.ID})
}
