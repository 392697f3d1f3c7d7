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
	"strconv"
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

// Store runs the suite. open gives an empty store and closes it with the test.
func Store(t *testing.T, open func(t testing.TB) jobs.Store) {
	for _, tt := range []struct {
		name string
		f    func(*testing.T, jobs.Store)
	}{
		{"AddAndList", addAndList},
		{"Key", key},
		{"Claim", claim},
		{"ClaimRace", claimRace},
		{"Fence", fence},
		{"Queue", queue},
		{"QueueOfDead", queueOfDead},
		{"FinishJob", finishJob},
		{"TakeOver", takeOver},
		{"CrashLimit", crashLimit},
		{"CrashProgress", crashProgress},
		{"Reopen", reopen},
		{"ReopenFailed", reopenFailed},
		{"CancelUnheld", cancelUnheld},
		{"CancelHeld", cancelHeld},
		{"Remove", remove},
		{"Events", events},
		{"Follow", follow},
		{"Signals", signals},
		{"Inputs", inputs},
		{"Unknown", unknown},
	} {
		t.Run(tt.name, func(t *testing.T) { tt.f(t, open(t)) })
	}
}

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
	j, err := s.Add(t.Context(), &jobs.Job{ID: id, Workflow: "w", Agent: "a", Input: json.RawMessage(`{"n":1}`)})
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
		_, err := s.Add(t.Context(), &jobs.Job{ID: fmt.Sprintf("J%d", i), Workflow: "w", Agent: agent, Created: start.Add(time.Duration(i) * time.Second)})
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

// position is where a job stands in the queue, which it leaves at 0.
func position(t *testing.T, c claimed, atOnce, want int) {
	t.Helper()
	if got, err := c.Start(t.Context(), atOnce); err != nil || got != want {
		t.Fatalf("%s is at position %d of %d at once, want %d; %v", c.ID, got, atOnce, want, err)
	}
}

func enqueue(t *testing.T, s jobs.Store, id string, n int, ttl time.Duration) claimed {
	t.Helper()
	j, journal, err := s.Enqueue(t.Context(), id, runner(n), ttl)
	ok(t, err)
	return claimed{j, journal}
}

// queue has older jobs go first, wherever they run, and no more than there is a
// place for.
func queue(t *testing.T, s jobs.Store) {
	for _, id := range []string{"J1", "J2", "J3", "J4"} {
		add(t, s, id)
	}
	first := hold(t, s, "J1", ttl) // without a bound of its own
	last := enqueue(t, s, "J3", 3, ttl)
	position(t, last, 1, 1)
	if j := status(t, s, "J3", jobs.Queued); j.Lease.Owner == "" || !j.Started.IsZero() {
		t.Errorf("a job in the queue is %+v", j)
	}
	if _, _, err := s.Enqueue(t.Context(), "J3", runner(4), ttl); !errors.Is(err, jobs.ErrHeld) {
		t.Errorf("a second runner gets %v", err)
	}
	older := enqueue(t, s, "J2", 2, ttl)
	position(t, older, 1, 1)
	position(t, last, 1, 2)
	position(t, older, 2, 0)
	position(t, last, 2, 1)
	if j := status(t, s, "J2", jobs.Running); j.Started.IsZero() {
		t.Errorf("a job that was queued and runs is %+v", j)
	}
	ok(t, first.FinishJob(t.Context(), &jobs.Job{ID: "J1", Status: jobs.Waiting}, nil))
	position(t, last, 2, 0) // who waits for a person has no place
	ok(t, s.Reopen(t.Context(), "J1", flow.Reopener{}))
	position(t, enqueue(t, s, "J1", 1, ttl), 2, 1)
	ok(t, s.Cancel(t.Context(), "J1"))
	if j := status(t, s, "J1", jobs.Queued); !j.Cancel {
		t.Errorf("a cancel in the queue leaves %+v", j)
	}
	if j := status(t, s, "J4", jobs.Queued); j.Lease.Owner != "" {
		t.Errorf("a job that nobody started is %+v", j)
	}
}

// queueOfDead has runners that died: they keep neither a place nor a position.
func queueOfDead(t *testing.T, s jobs.Store) {
	for _, id := range []string{"J1", "J2", "J3"} {
		add(t, s, id)
	}
	hold(t, s, "J1", instant)
	gone := enqueue(t, s, "J2", 2, instant)
	position(t, enqueue(t, s, "J3", 3, ttl), 1, 0)
	status(t, s, "J2", jobs.Interrupted)
	if list, err := s.List(t.Context(), jobs.Query{Status: []jobs.Status{jobs.Interrupted}}); err != nil || len(list) != 2 {
		t.Errorf("%d jobs are interrupted, want J1 and J2; %v", len(list), err)
	}
	again := enqueue(t, s, "J2", 4, ttl)
	if again.Crashes != 0 {
		t.Errorf("dying in the queue counts as %d crashes of the job", again.Crashes)
	}
	_, err := gone.Start(t.Context(), 5)
	is(t, err, jobs.ErrLeaseLost)
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
	ok(t, s.Cancel(t.Context(), "J1"))
	status(t, s, "J1", jobs.Cancelled)
	evs := read(t, s, "J1", 0)
	var fin jobs.Final
	if len(evs) != 1 || evs[0].Kind != event.JobFinished || json.Unmarshal(evs[0].Data, &fin) != nil || fin.Status != jobs.Cancelled {
		t.Errorf("events are %+v", evs)
	}
	is(t, s.Cancel(t.Context(), "J1"), jobs.ErrFinal)

	add(t, s, "J2") // its runner is dead, and must not come back
	old := hold(t, s, "J2", instant)
	ok(t, s.Cancel(t.Context(), "J2"))
	status(t, s, "J2", jobs.Cancelled)
	_, err := old.Heartbeat(t.Context(), ttl)
	is(t, err, jobs.ErrLeaseLost)
}

func cancelHeld(t *testing.T, s jobs.Store) {
	add(t, s, "J1")
	j := hold(t, s, "J1", ttl)
	ok(t, s.Cancel(t.Context(), "J1"))
	if got := status(t, s, "J1", jobs.Running); !got.Cancel {
		t.Error("the request cannot be seen")
	}
	cancel, err := j.Heartbeat(t.Context(), ttl)
	ok(t, err)
	if !cancel {
		t.Error("the runner does not see the cancellation")
	}
	j.Status = jobs.Cancelled
	ok(t, j.FinishJob(t.Context(), j.Job, nil))
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

func unknown(t *testing.T, s jobs.Store) {
	ctx := t.Context()
	_, err := jobs.Find(ctx, s, "J9")
	is(t, err, jobs.ErrNotExist)
	_, _, err = s.Claim(ctx, "J9", runner(1), ttl)
	is(t, err, jobs.ErrNotExist)
	is(t, s.Remove(ctx, "J9"), jobs.ErrNotExist)
	is(t, s.Reopen(ctx, "J9", flow.Reopener{}), jobs.ErrNotExist)
	is(t, s.Cancel(ctx, "J9"), jobs.ErrNotExist)
	is(t, s.Send(ctx, "J9", flow.Signal{Name: "go"}), jobs.ErrNotExist)
	_, err = jobs.Pending(ctx, s, "J9")
	is(t, err, jobs.ErrNotExist)
	for _, err = range s.Events(ctx, "J9", 0, true) {
		break
	}
	is(t, err, jobs.ErrNotExist)
}
