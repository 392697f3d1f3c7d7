package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/adroit-run/adroit/internal/system/exhaustion"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/flow"
)

// end closes the log after a run that returned out and err, ends the heartbeat
// and records how the run ended.
func (r *run) end(ctx context.Context, endHeartbeat func(), out json.RawMessage, err error) (*Job, error) {
	if p := new(panicError); errors.As(err, &p) {
		r.emit(event.Event{Kind: event.Note, Text: fmt.Sprintf("%s\n%s", p, p.stack)})
	}
	cause := context.Cause(ctx)
	late := exhaustion.Outlive(ctx)
	unkept := r.rec.close(late)
	// The heartbeat goes on until here: a sync may take as long as a disk wants.
	endHeartbeat()
	if errors.Is(err, ErrLeaseLost) || errors.Is(unkept, ErrLeaseLost) || errors.Is(cause, ErrLeaseLost) {
		return nil, fmt.Errorf("%s: %w", r.job.ID, ErrLeaseLost)
	}
	if unkept != nil && cause == nil {
		cause = &storeError{unkept}
	}
	return r.finish(late, out, err, cause)
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
	if j.Status == Done {
		var out struct {
			Outcome struct {
				Status Status
				Reason string
			}
		}
		if json.Unmarshal(j.Output, &out) == nil {
			if j.Reason = out.Outcome.Reason; out.Outcome.Status.Succeeded() {
				j.Status = out.Outcome.Status
			}
		}
	}
	fin := final(&j, parked)
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
	if err := r.journal.FinishJob(ctx, &j, &last); errors.Is(err, ErrFinal) {
		return r.finish(ctx, out, errCancelled, errCancelled) // asked for in the last moment
	} else if err != nil {
		// Left as it is, the job shows as interrupted once the lease is over.
		return nil, errors.Join(fmt.Errorf("%s: recording how it ended: %w", j.ID, err), cause)
	}
	r.rec.show(last)
	return find(ctx, r.m.Store, Query{ID: j.ID})
}
