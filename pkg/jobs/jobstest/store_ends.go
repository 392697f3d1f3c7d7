package jobstest

import (
	"encoding/json"
	"strconv"
	"testing"
	"time"

	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/jobs"
)

func takeOver(t *testing.T, s jobs.Store) {
	add(t, s, "J1")
	hold(t, s, "J1", instant)
	j := status(t, s, "J1", jobs.Interrupted)
	if j.Reason == "" || j.Lease != (jobs.Lease{}) {
		t.Errorf("interrupted as %+v", j)
	}
	list, err := s.List(t.Context(), jobs.Query{Status: []jobs.Status{jobs.Interrupted}})
	ok(t, err)
	if len(list) != 1 {
		t.Errorf("%d jobs are listed as interrupted", len(list))
	}
	if got := hold(t, s, "J1", ttl); got.Crashes != 1 || got.Status != jobs.Running {
		t.Errorf("taken over as %+v", got)
	}
}

func crashLimit(t *testing.T, s jobs.Store) {
	add(t, s, "J1")
	for range 3 {
		hold(t, s, "J1", instant)
	}
	_, _, err := s.Claim(t.Context(), "J1", runner(1), ttl)
	is(t, err, jobs.ErrBlocked)
	if j := status(t, s, "J1", jobs.Blocked); j.Reason == "" {
		t.Error("blocked without a reason")
	}
	_, _, err = s.Claim(t.Context(), "J1", runner(1), ttl)
	is(t, err, jobs.ErrBlocked)
	ok(t, s.Reopen(t.Context(), "J1", flow.Reopener{}))
	if j := hold(t, s, "J1", ttl); j.Crashes != 0 {
		t.Errorf("%d crashes are held against a reopened job", j.Crashes)
	}
}

// crashProgress: a runner that dies after it has finished something counts once
// at most, however often that happens.
func crashProgress(t *testing.T, s jobs.Store) {
	add(t, s, "J1")
	for i := range 10 {
		j := hold(t, s, "J1", ttl)
		if j.Crashes > 1 {
			t.Fatalf("run %d: %d crashes are held against a job that gets on", i, j.Crashes)
		}
		st := flow.Step{Job: "J1", Path: strconv.Itoa(i), Kind: "do"}
		ok(t, j.Finish(t.Context(), &flow.Record{Job: "J1", Path: st.Path, Kind: st.Kind, Sum: st.Sum(), Done: true}))
		_, err := j.Heartbeat(t.Context(), instant)
		ok(t, err)
	}
}

func reopen(t *testing.T, s jobs.Store) {
	add(t, s, "J1")
	j := hold(t, s, "J1", ttl)
	is(t, s.Reopen(t.Context(), "J1", flow.Reopener{}), jobs.ErrRunning)
	j.Status, j.Reason = jobs.Failed, "no luck"
	ok(t, j.FinishJob(t.Context(), j.Job, nil))
	ok(t, s.Reopen(t.Context(), "J1", flow.Reopener{}))
	if got := status(t, s, "J1", jobs.Queued); got.Reason != "" || !got.Finished.IsZero() {
		t.Errorf("reopened as %+v", got)
	}
	hold(t, s, "J1", ttl)
}

// reopenFailed: what a job failed with is tried again; a failure it got over
// stays as it was.
func reopenFailed(t *testing.T, s jobs.Store) {
	add(t, s, "J1")
	j := hold(t, s, "J1", ttl)
	steps := make([]flow.Step, 3)
	for i := range steps {
		steps[i] = flow.Step{Job: "J1", Path: strconv.Itoa(i), Kind: "model", Name: "m", Input: json.RawMessage("{}")}
		rec := &flow.Record{Job: "J1", Path: steps[i].Path, Kind: "model", Name: "m", Sum: steps[i].Sum(), Done: true}
		if i == 1 {
			rec.Output = json.RawMessage("{}")
		} else {
			rec.Failure = &flow.Failure{Code: flow.Failed, Message: "no key"}
		}
		_, err := j.Begin(t.Context(), steps[i], time.Time{})
		ok(t, err)
		ok(t, j.Finish(t.Context(), rec))
	}
	j.Status = jobs.Failed
	ok(t, j.FinishJob(t.Context(), j.Job, nil))
	ok(t, s.Reopen(t.Context(), "J1", flow.Reopener{}))
	journal := hold(t, s, "J1", ttl)
	for i, st := range steps {
		rec, err := journal.Begin(t.Context(), st, time.Time{})
		ok(t, err)
		if known := rec != nil; known != (i < 2) {
			t.Errorf("step %d is known: %v", i, known)
		}
	}
}

func cancelUnheld(t *testing.T, s jobs.Store) {
	add(t, s, "J1")
	ok(t, s.Cancel(t.Context(), "J1", nil))
	status(t, s, "J1", jobs.Cancelled)
	evs := read(t, s, "J1", 0)
	var fin jobs.Final
	if len(evs) != 1 || evs[0].Kind != event.JobFinished || json.Unmarshal(evs[0].Data, &fin) != nil || fin.Status != jobs.Cancelled {
		t.Errorf("events are %+v", evs)
	}
	is(t, s.Cancel(t.Context(), "J1", nil), jobs.ErrFinal)

	add(t, s, "J2") // its runner is dead, and must not come back
	old := hold(t, s, "J2", instant)
	ok(t, s.Cancel(t.Context(), "J2", nil))
	status(t, s, "J2", jobs.Cancelled)
	_, err := old.Heartbeat(t.Context(), ttl)
	is(t, err, jobs.ErrLeaseLost)

	add(t, s, "J3")
	who := &event.Event{Kind: event.Answer, Name: "cancel", Text: "by phone"}
	ok(t, s.Cancel(t.Context(), "J3", who))
	is(t, s.Cancel(t.Context(), "J3", who), jobs.ErrFinal)
	if evs := read(t, s, "J3", 0); len(evs) != 2 || evs[0].Text != "by phone" || evs[1].Kind != event.JobFinished {
		t.Errorf("who cancelled it is to be in the log, once and before its end: %+v", evs)
	}
	message := flow.Signal{Name: "message", Value: json.RawMessage(`{}`), Log: &event.Event{Kind: event.Answer, Name: "message", Text: "by phone"}}
	ok(t, s.Reopen(t.Context(), "J3", flow.Reopener{Send: &message}))
	if evs := read(t, s, "J3", 2); len(evs) != 1 || evs[0].Text != "by phone" || evs[0].Job != "J3" {
		t.Errorf("who sent the message that reopens it is to be in the log: %+v", evs)
	}
}

func cancelHeld(t *testing.T, s jobs.Store) {
	add(t, s, "J1")
	j := hold(t, s, "J1", ttl)
	ok(t, s.Cancel(t.Context(), "J1", nil))
	if got := status(t, s, "J1", jobs.Running); !got.Cancel {
		t.Error("the request cannot be seen")
	}
	cancel, err := j.Heartbeat(t.Context(), ttl)
	ok(t, err)
	if !cancel {
		t.Error("the runner does not see the cancellation")
	}
	for _, left := range []jobs.Status{jobs.Waiting, jobs.Interrupted, jobs.Blocked} {
		j.Status = left
		ok(t, j.Append(t.Context(), event.Event{Kind: event.Note})) // it stays
		is(t, j.FinishJob(t.Context(), j.Job, nil), jobs.ErrFinal)
		status(t, s, "J1", jobs.Running)
	}
	j.Status = jobs.Cancelled
	ok(t, j.FinishJob(t.Context(), j.Job, nil))
	if evs := read(t, s, "J1", 0); len(evs) != 3 {
		t.Errorf("events are %+v", evs)
	}
	ok(t, s.Reopen(t.Context(), "J1", flow.Reopener{}))
	if j := hold(t, s, "J1", ttl); j.Cancel {
		t.Error("a reopened job is still to be cancelled")
	}
}

func remove(t *testing.T, s jobs.Store) {
	add(t, s, "J1")
	j := hold(t, s, "J1", ttl)
	is(t, s.Remove(t.Context(), "J1"), jobs.ErrRunning)
	ok(t, j.Append(t.Context(), event.Event{Job: "J1", Kind: event.Note}))
	j.Status = jobs.Done
	ok(t, j.FinishJob(t.Context(), j.Job, nil))
	ok(t, s.Remove(t.Context(), "J1"))
	_, err := jobs.Find(t.Context(), s, "J1")
	is(t, err, jobs.ErrNotExist)
	add(t, s, "J1")
	if evs := read(t, s, "J1", 0); len(evs) != 0 {
		t.Errorf("a removed job left %d events", len(evs))
	}
}
