// Package jobstest is one behaviour suite for every jobs.Store, and one for
// the manager on top of it.
//
//	func TestStore(t *testing.T) {
//		jobstest.Store(t, func(t testing.TB) jobs.Store { return new(jobs.Memory) })
//	}
package jobstest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// ttl is longer than any test, instant is a lease that is over at once.
const (
	ttl     = time.Minute
	instant = time.Nanosecond
)

// runner names an owner that no store can take for a process of this machine.
func runner(n int) string { return fmt.Sprintf("elsewhere:%d", n) }

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func is(t testing.TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("error is %v, want %v", err, want)
	}
}

func status(t testing.TB, s jobs.Store, id string, want jobs.Status) *jobs.Job {
	t.Helper()
	j, err := jobs.Find(t.Context(), s, id)
	ok(t, err)
	if j.Status != want {
		t.Fatalf("job %s is %s (%s), want %s", id, j.Status, j.Reason, want)
	}
	return j
}

func add(t testing.TB, s jobs.Store, id string) *jobs.Job {
	t.Helper()
	j, err := s.Add(t.Context(), &jobs.Job{ID: id, Workflow: "w", Agent: "a", Input: json.RawMessage(`{"n":1}`), Host: json.RawMessage(`{"h":1}`)})
	ok(t, err)
	return j
}

// claimed is a job with the journal of its claim.
type claimed struct {
	*jobs.Job
	jobs.Journal
}

func hold(t testing.TB, s jobs.Store, id string, ttl time.Duration) claimed {
	t.Helper()
	j, journal, err := s.Claim(t.Context(), id, runner(1), ttl)
	ok(t, err)
	return claimed{j, journal}
}

func addAndList(t *testing.T, s jobs.Store) {
	start := time.Now().Add(-time.Hour)
	for i, agent := range []string{"a", "b", "a"} {
		_, err := s.Add(t.Context(), &jobs.Job{ID: fmt.Sprintf("J%d", i), Workflow: "w", Agent: agent, Host: json.RawMessage(`{"h":1}`), Created: start.Add(time.Duration(i) * time.Second)})
		ok(t, err)
	}
	if _, err := s.Add(t.Context(), &jobs.Job{ID: "J1", Workflow: "w"}); err == nil {
		t.Error("two jobs share an id")
	}
	hold(t, s, "J2", ttl)
	for _, tt := range []struct {
		q    jobs.Query
		want []string
	}{
		{jobs.Query{}, []string{"J2", "J1", "J0"}},
		{jobs.Query{Limit: 2}, []string{"J2", "J1"}},
		{jobs.Query{Agent: "a"}, []string{"J2", "J0"}},
		{jobs.Query{Workflow: "w", Agent: "a"}, []string{"J2", "J0"}},
		{jobs.Query{Workflow: "v"}, nil},
		{jobs.Query{Prefix: "J1"}, []string{"J1"}},
		{jobs.Query{Status: []jobs.Status{jobs.Queued}}, []string{"J1", "J0"}},
		{jobs.Query{Status: []jobs.Status{jobs.Running, jobs.Done}}, []string{"J2"}},
		{jobs.Query{Status: []jobs.Status{jobs.Interrupted}}, nil},
	} {
		list, err := s.List(t.Context(), tt.q)
		ok(t, err)
		var got []string
		for _, j := range list {
			got = append(got, j.ID)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%+v gives %v, want %v", tt.q, got, tt.want)
		}
	}
	for _, brief := range []bool{false, true} {
		if list, err := s.List(t.Context(), jobs.Query{ID: "J0", Brief: brief}); err != nil || string(list[0].Host) != `{"h":1}` {
			t.Errorf("brief %v: the job has the host %s, %v", brief, list[0].Host, err)
		}
	}
}

func key(t *testing.T, s jobs.Store) {
	one, err := s.Add(t.Context(), &jobs.Job{ID: "J1", Workflow: "w", Key: "nightly"})
	ok(t, err)
	two, err := s.Add(t.Context(), &jobs.Job{ID: "J2", Workflow: "w", Key: "nightly"})
	ok(t, err)
	if one.ID != "J1" || two.ID != "J1" {
		t.Errorf("jobs are %s and %s, want J1 twice", one.ID, two.ID)
	}
	_, err = jobs.Find(t.Context(), s, "J2")
	is(t, err, jobs.ErrNotExist)
	for id, scope := range map[string]string{"J3": "/a", "J4": "/b"} {
		here, err := s.Add(t.Context(), &jobs.Job{ID: id, Workflow: "w", Key: "daily", Scope: scope, Request: "r"})
		ok(t, err)
		if here.ID != id {
			t.Errorf("the key of %s gives job %s", scope, here.ID)
		}
	}
	three, err := s.Add(t.Context(), &jobs.Job{ID: "J5", Workflow: "w", Key: "daily", Scope: "/a"})
	ok(t, err)
	if three.ID != "J3" || three.Scope != "/a" || three.Request != "r" {
		t.Errorf("the key of /a gives %+v", three)
	}
}

func claim(t *testing.T, s jobs.Store) {
	add(t, s, "J1")
	j := hold(t, s, "J1", ttl)
	if j.Status != jobs.Running || j.Lease.Token == 0 || j.Started.IsZero() || string(j.Input) != `{"n":1}` {
		t.Errorf("claimed %+v", j)
	}
	_, _, err := s.Claim(t.Context(), "J1", runner(2), ttl)
	is(t, err, jobs.ErrHeld)
	cancel, err := j.Heartbeat(t.Context(), ttl)
	ok(t, err)
	if cancel {
		t.Error("a cancel nobody asked for")
	}
}

// claimRace has many runners want every job.
func claimRace(t *testing.T, s jobs.Store) {
	const n, runners = 20, 8
	for i := range n {
		add(t, s, fmt.Sprintf("J%d", i))
	}
	var mu sync.Mutex
	won := map[string]int{}
	var wg sync.WaitGroup
	for r := range runners {
		wg.Go(func() {
			for i := range n {
				id := fmt.Sprintf("J%d", (i+r)%n)
				_, _, err := s.Claim(context.WithoutCancel(t.Context()), id, runner(r), ttl)
				switch {
				case err == nil:
					mu.Lock()
					won[id]++
					mu.Unlock()
				case !errors.Is(err, jobs.ErrHeld):
					t.Errorf("claim: %v", err)
				}
			}
		})
	}
	wg.Wait()
	for i := range n {
		if id := fmt.Sprintf("J%d", i); won[id] != 1 {
			t.Errorf("%s was claimed %d times", id, won[id])
		}
	}
}

// fence lets a runner that lost its job try everything.
func fence(t *testing.T, s jobs.Store) {
	add(t, s, "J1")
	old := hold(t, s, "J1", instant)
	now := hold(t, s, "J1", ttl)
	if now.Lease.Token <= old.Lease.Token {
		t.Fatalf("token went from %d to %d", old.Lease.Token, now.Lease.Token)
	}
	ctx := t.Context()
	_, err := old.Heartbeat(ctx, ttl)
	is(t, err, jobs.ErrLeaseLost)
	is(t, old.FinishJob(ctx, &jobs.Job{ID: "J1", Status: jobs.Done}, nil), jobs.ErrLeaseLost)
	is(t, errors.Join(old.Append(ctx, event.Event{Job: "J1", Kind: event.Note}), old.Sync(ctx)), jobs.ErrLeaseLost)
	step := flow.Step{Job: "J1", Path: "0", Kind: "k", Input: json.RawMessage(`1`)}
	_, err = old.Begin(ctx, step, time.Time{})
	is(t, err, jobs.ErrLeaseLost)
	is(t, old.Finish(ctx, &flow.Record{Job: "J1", Path: "0", Kind: "k", Sum: step.Sum(), Done: true}), jobs.ErrLeaseLost)
	is(t, errors.Join(old.Save(ctx, "J1", "", flow.State{Value: json.RawMessage(`1`)}), old.Sync(ctx)), jobs.ErrLeaseLost)
	_, err = old.Receive(ctx, step, []string{"go"})
	is(t, err, jobs.ErrLeaseLost)
	_, err = old.Load(ctx, "J1", "")
	is(t, err, jobs.ErrLeaseLost)
	status(t, s, "J1", jobs.Running)

	rec, err := now.Begin(ctx, step, time.Time{})
	ok(t, err)
	if rec != nil {
		t.Errorf("a refused step was recorded: %+v", rec)
	}
}

func finishJob(t *testing.T, s jobs.Store) {
	add(t, s, "J1")
	j := hold(t, s, "J1", ttl)
	j.Status, j.Reason, j.Output = jobs.Limit, "reached the limit", json.RawMessage(`{"x":1}`)
	ok(t, j.FinishJob(t.Context(), j.Job, &event.Event{Kind: event.JobFinished, Data: json.RawMessage(`{"y":2}`)}))
	got := status(t, s, "J1", jobs.Limit)
	if got.Reason != j.Reason || string(got.Output) != `{"x":1}` || got.Finished.IsZero() || got.Lease != (jobs.Lease{}) {
		t.Errorf("finished as %+v", got)
	}
	evs := read(t, s, "J1", 0)
	if len(evs) != 1 || evs[0].Kind != event.JobFinished || evs[0].Job != "J1" || string(evs[0].Data) != `{"y":2}` {
		t.Errorf("events are %+v", evs)
	}
	_, _, err := s.Claim(t.Context(), "J1", runner(1), ttl)
	is(t, err, jobs.ErrFinal)
	is(t, j.FinishJob(t.Context(), j.Job, nil), jobs.ErrLeaseLost)

	add(t, s, "J2")
	j = hold(t, s, "J2", ttl)
	j.Status = jobs.Waiting
	ok(t, j.FinishJob(t.Context(), j.Job, nil))
	if got := status(t, s, "J2", jobs.Waiting); !got.Finished.IsZero() {
		t.Error("a waiting job has ended")
	}
	j = hold(t, s, "J2", ttl)
	if err := j.FinishJob(t.Context(), j.Job, nil); err == nil {
		t.Error("a job was finished as running")
	}
}

func unknown(t *testing.T, s jobs.Store) {
	ctx := t.Context()
	_, err := jobs.Find(ctx, s, "J9")
	is(t, err, jobs.ErrNotExist)
	_, _, err = s.Claim(ctx, "J9", runner(1), ttl)
	is(t, err, jobs.ErrNotExist)
	is(t, s.Remove(ctx, "J9"), jobs.ErrNotExist)
	is(t, s.Reopen(ctx, "J9", flow.Reopener{}), jobs.ErrNotExist)
	is(t, s.Cancel(ctx, "J9", nil), jobs.ErrNotExist)
	is(t, s.Send(ctx, "J9", flow.Signal{Name: "go"}), jobs.ErrNotExist)
	for _, err = range s.Events(ctx, "J9", 0, true) {
		break
	}
	is(t, err, jobs.ErrNotExist)
}

func read(t testing.TB, s jobs.Store, id string, after int64) []event.Event {
	t.Helper()
	var out []event.Event
	for ev, err := range s.Events(t.Context(), id, after, false) {
		ok(t, err)
		out = append(out, ev)
	}
	return out
}
