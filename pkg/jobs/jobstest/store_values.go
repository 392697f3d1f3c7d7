package jobstest

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// blobs has the inputs that steps asked to keep, byte by byte, for as long as a job refers
// to them.
func blobs(t *testing.T, s jobs.Store) {
	add(t, s, "J1")
	j := hold(t, s, "J1", ttl)
	kept := flow.Step{Job: "J1", Path: "0", Kind: "k", Input: json.RawMessage(`{"kept":  1}`), Keep: true}
	other := flow.Step{Job: "J1", Path: "1", Kind: "k", Input: json.RawMessage(`{"kept": 2}`)}
	for _, st := range []flow.Step{kept, other} {
		_, err := j.Begin(t.Context(), st, time.Time{})
		ok(t, err)
	}
	for _, when := range []string{"before", "after"} {
		b, err := j.Blob(t.Context(), kept.Digest())
		if err != nil || string(b) != string(kept.Input) {
			t.Errorf("%s a checkpoint, the blob is %s, %v", when, b, err)
		}
		_, err = j.Blob(t.Context(), other.Digest())
		is(t, err, flow.ErrNoBlob)
		ok(t, j.Save(t.Context(), "J1", "", flow.State{Next: 2, Value: json.RawMessage(`{}`)}))
		ok(t, j.Sync(t.Context()))
	}
	st, err := j.Load(t.Context(), "J1", "")
	if err != nil || st == nil || st.Next != 2 || string(st.Value) != `{}` {
		t.Errorf("the checkpoint is %+v, %v", st, err)
	}
}

// sendEnded: a job that has ended takes no signal, and keeps none.
func sendEnded(t *testing.T, s jobs.Store) {
	for id, end := range map[string]jobs.Status{"J1": jobs.Done, "J2": jobs.Failed, "J3": jobs.Limit} {
		add(t, s, id)
		j := hold(t, s, id, ttl)
		j.Status = end
		ok(t, j.FinishJob(t.Context(), j.Job, nil))
		is(t, s.Send(t.Context(), id, flow.Signal{Name: "go"}), jobs.ErrFinal)
		if found, err := jobs.Find(t.Context(), s, id); err != nil || len(found.Signals) > 0 {
			t.Errorf("a job that is %s has the signals %+v, %v", end, found.Signals, err)
		}
	}
}

// apart: what a store returns and is given is the caller's; changing it changes no job.
func apart(t *testing.T, s jobs.Store) {
	given := &jobs.Job{ID: "J1", Workflow: "w", Agent: "a", Title: "as it was"}
	added, err := s.Add(t.Context(), given)
	ok(t, err)
	if added.Status != jobs.Queued || added.Created.IsZero() {
		t.Errorf("added as %+v", added)
	}
	change := func(j *jobs.Job) { j.Title, j.Status, j.Agent = "changed", jobs.Failed, "b" }
	change(given)
	change(added)
	change(status(t, s, "J1", jobs.Queued))
	held := hold(t, s, "J1", ttl)
	change(held.Job)
	if j := status(t, s, "J1", jobs.Running); j.Title != "as it was" || j.Agent != "a" {
		t.Errorf("it is %+v now", j)
	}
}

// followEnds: a follower of the log of a running job is let go with the end of the context,
// and learns why.
func followEnds(t *testing.T, s jobs.Store) {
	add(t, s, "J1")
	hold(t, s, "J1", ttl)
	why := errors.New("enough")
	ctx, stop := context.WithCancelCause(t.Context())
	ended := make(chan error, 1)
	go func() {
		var last error
		for _, err := range s.Events(ctx, "J1", 0, true) {
			last = err
		}
		ended <- last
	}()
	stop(why)
	select {
	case err := <-ended:
		if !errors.Is(err, why) && !errors.Is(err, context.Canceled) {
			t.Errorf("it ends with %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("it goes on after the end of the context")
	}
}
