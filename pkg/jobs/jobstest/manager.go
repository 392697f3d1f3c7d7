package jobstest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// Manager runs the suite of jobs.Manager on a store.
func Manager(t *testing.T, open func(t testing.TB) jobs.Store) {
	for _, tt := range []struct {
		name string
		f    func(*testing.T, *bench)
	}{
		{"Done", done},
		{"Submit", submit},
		{"OwnStatus", ownStatus},
		{"Failed", failed},
		{"Panic", panics},
		{"Park", park},
		{"Stop", stop},
		{"Cancel", cancel},
		{"CancelFirst", cancelFirst},
		{"AtOnce", atOnce},
		{"LeaveQueue", leaveQueue},
		{"LeaseLost", leaseLost},
		{"Diverged", diverged},
		{"NoWorkflow", noWorkflow},
		{"Setup", setup},
		{"StoreFails", storeFails},
		{"EventsFail", eventsFail},
		{"OrderlyEnd", orderlyEnd},
		{"KillEverywhere", killEverywhere},
	} {
		t.Run(tt.name, func(t *testing.T) { tt.f(t, newBench(open(t))) })
	}
	t.Run("ResumeFailed", func(t *testing.T) { resumeFailed(t, open) })
}

// bench is a manager with one workflow, whose steps do what a test says.
type bench struct {
	*jobs.Manager
	step func(ctx context.Context, s flow.Step) (json.RawMessage, error)
	work func(r *flow.Run, n int) (int, error)
	runs atomic.Int32 // steps performed
}

func newBench(s jobs.Store) *bench {
	b := &bench{}
	b.step = func(_ context.Context, s flow.Step) (json.RawMessage, error) { return s.Input, nil }
	b.work = func(r *flow.Run, n int) (int, error) {
		sum := 0
		for i := range n {
			v, err := flow.Do[int](r, "add", fmt.Sprint(i), i)
			if err != nil {
				return sum, err
			}
			sum += v
		}
		return sum, nil
	}
	b.Manager = &jobs.Manager{
		Store: s, TTL: ttl, Owner: runner(1),
		Workflows: []flow.Workflow{flow.Define("work", func(r *flow.Run, n int) (int, error) { return b.work(r, n) })},
		Mux: func(context.Context, *jobs.Job, flow.Blobs) (flow.Mux, func(), error) {
			return flow.Mux{"add": {Safe: flow.Always, Handler: func(ctx context.Context, s flow.Step, _ event.Sink) (json.RawMessage, error) {
				b.runs.Add(1)
				return b.step(ctx, s)
			}}}, nil, nil
		},
	}
	return b
}

func (b *bench) submit(t testing.TB, n int) string {
	t.Helper()
	j, err := b.Submit(t.Context(), &jobs.Job{Workflow: "work", Input: json.RawMessage(fmt.Sprint(n))})
	ok(t, err)
	return j.ID
}

// last gives the data of the last event, which must be of the kind.
func (b *bench) last(t testing.TB, id string, kind event.Kind) jobs.Final {
	t.Helper()
	evs := read(t, b.Store, id, 0)
	ev := evs[len(evs)-1]
	if ev.Kind != kind {
		t.Fatalf("the last event is %+v, want %s", ev, kind)
	}
	var f jobs.Final
	ok(t, json.Unmarshal(ev.Data, &f))
	return f
}

func (b *bench) run(t testing.TB, id string, want jobs.Status) *jobs.Job {
	t.Helper()
	j, err := b.Run(t.Context(), id, jobs.RunOptions{})
	ok(t, err)
	if j.Status != want {
		t.Fatalf("job is %s (%s), want %s", j.Status, j.Reason, want)
	}
	return j
}

func done(t *testing.T, b *bench) {
	id := b.submit(t, 4)
	var mu sync.Mutex
	var live []event.Kind
	j, err := b.Run(t.Context(), id, jobs.RunOptions{Emit: func(ev event.Event) {
		mu.Lock()
		live = append(live, ev.Kind)
		mu.Unlock()
	}})
	ok(t, err)
	if j.Status != jobs.Done || string(j.Output) != "6" || j.Lease != (jobs.Lease{}) {
		t.Errorf("job is %+v", j)
	}
	var kept []event.Kind
	for _, ev := range read(t, b.Store, id, 0) {
		kept = append(kept, ev.Kind)
		if ev.Job != id || ev.Time.IsZero() {
			t.Errorf("event %+v has no job or no time", ev)
		}
	}
	want := []event.Kind{event.JobStarted}
	for range 4 {
		want = append(want, event.StepStarted, event.StepFinished)
	}
	want = append(want, event.JobFinished)
	if !slices.Equal(kept, want) || !slices.Equal(live, want) {
		t.Errorf("events are\n%v, live\n%v, want\n%v", kept, live, want)
	}
	_, err = b.Resume(t.Context(), id, jobs.RunOptions{})
	is(t, err, jobs.ErrFinal)
}

func submit(t *testing.T, b *bench) {
	in := json.RawMessage(`{"agent":"builder","prompt":"  make it work\nand fast"}`)
	j, err := b.Submit(t.Context(), &jobs.Job{Workflow: "work", Input: in, Key: "k"})
	ok(t, err)
	if j.Agent != "builder" || j.Title != "make it work" || j.Status != jobs.Queued || len(j.ID) != 14 || j.Created.IsZero() {
		t.Errorf("submitted %+v", j)
	}
	again, err := b.Submit(t.Context(), &jobs.Job{Workflow: "work", Input: in, Key: "k"})
	ok(t, err)
	if again.ID != j.ID {
		t.Error("one key made two jobs")
	}
	if _, err := b.Submit(t.Context(), &jobs.Job{Workflow: "wrk"}); err == nil {
		t.Error("a job of an unknown workflow was taken")
	}
}

type limited struct{}

func (limited) Error() string  { return "limit" }
func (limited) Status() string { return "limit" }
func (limited) Reason() string { return "reached the limit of 3 turns" }

// ownStatus is a workflow that knows how it ended, and leaves a result.
func ownStatus(t *testing.T, b *bench) {
	type state struct {
		Turns   int            `json:"turns"`
		Usage   jobs.Usage     `json:"usage"`
		Outcome map[string]any `json:"outcome"`
	}
	b.Workflows = append(b.Workflows, flow.Define("agent", func(*flow.Run, int) (state, error) {
		return state{3, jobs.Usage{In: 10, Out: 2}, map[string]any{"limit": "turns", "unmet": []string{"tests"}, "summary": "half"}}, limited{}
	}))
	j, err := b.Submit(t.Context(), &jobs.Job{Workflow: "agent", Input: json.RawMessage("0")})
	ok(t, err)
	j = b.run(t, j.ID, jobs.Limit)
	if j.Reason != "reached the limit of 3 turns" || len(j.Output) == 0 {
		t.Errorf("job is %+v", j)
	}
	f := b.last(t, j.ID, event.JobFinished)
	if f.Status != jobs.Limit || f.Stopped != "turns" || f.Turns != 3 || f.Usage.In != 10 || f.Summary != "half" || !slices.Equal(f.Unmet, []string{"tests"}) {
		t.Errorf("final is %+v", f)
	}
}

func failed(t *testing.T, b *bench) {
	b.step = func(context.Context, flow.Step) (json.RawMessage, error) {
		return nil, errors.New("the key was refused")
	}
	id := b.submit(t, 1)
	if j := b.run(t, id, jobs.Failed); j.Reason != "the key was refused" {
		t.Errorf("reason is %q", j.Reason)
	}
	if f := b.last(t, id, event.JobFinished); f.Stopped != "failed" || f.Reason == "" {
		t.Errorf("final is %+v", f)
	}
}

func panics(t *testing.T, b *bench) {
	b.work = func(*flow.Run, int) (int, error) { panic("oops") }
	id := b.submit(t, 1)
	if j := b.run(t, id, jobs.Failed); j.Reason != "the workflow panicked: oops" {
		t.Errorf("reason is %q", j.Reason)
	}
	if evs := read(t, b.Store, id, 0); evs[1].Kind != event.Note || len(evs[1].Text) < 100 {
		t.Errorf("no stack was kept: %+v", evs)
	}
}

func park(t *testing.T, b *bench) {
	b.work = func(r *flow.Run, n int) (int, error) {
		sig, err := flow.AwaitAny(r, "may I?", 0, "approve", "deny")
		if err != nil || sig.Name == "deny" {
			return 0, err
		}
		return flow.Do[int](r, "add", "x", n)
	}
	id := b.submit(t, 5)
	j, err := b.Run(t.Context(), id, jobs.RunOptions{Park: true})
	ok(t, err)
	if j.Status != jobs.Waiting {
		t.Fatalf("job is %+v", j)
	}
	f := b.last(t, id, event.JobWaiting)
	if f.Waiting == nil || !slices.Equal(f.Waiting.Signals, []string{"approve", "deny"}) || string(f.Waiting.About) != `"may I?"` {
		t.Errorf("waits for %+v", f.Waiting)
	}
	ok(t, b.Store.Send(t.Context(), id, flow.Signal{Name: "approve"}))
	j, err = b.Resume(t.Context(), id, jobs.RunOptions{Park: true})
	ok(t, err)
	if j.Status != jobs.Done || string(j.Output) != "5" {
		t.Errorf("job is %+v", j)
	}
}

// stop interrupts a step, as Ctrl-C does.
func stop(t *testing.T, b *bench) {
	ctx, halt := context.WithCancelCause(t.Context())
	b.step = func(ctx context.Context, s flow.Step) (json.RawMessage, error) {
		if s.Name == "2" {
			halt(jobs.ErrStopped)
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return s.Input, nil
	}
	id := b.submit(t, 4)
	j, err := b.Run(ctx, id, jobs.RunOptions{})
	ok(t, err)
	if j.Status != jobs.Interrupted || j.Reason != jobs.ErrStopped.Error() {
		t.Fatalf("job is %+v", j)
	}
	b.step = func(_ context.Context, s flow.Step) (json.RawMessage, error) { return s.Input, nil }
	b.runs.Store(0)
	j, err = b.Resume(t.Context(), id, jobs.RunOptions{})
	ok(t, err)
	if j.Status != jobs.Done || string(j.Output) != "6" || b.runs.Load() != 2 {
		t.Errorf("resumed with %d steps to %+v", b.runs.Load(), j)
	}
	var st jobs.Started
	for _, ev := range read(t, b.Store, id, 0) {
		if ev.Kind == event.JobStarted {
			ok(t, json.Unmarshal(ev.Data, &st))
		}
	}
	if !st.Resumed {
		t.Error("the second start does not say that it resumed")
	}
}

// cancel ends a step that would last for ever, from outside.
func cancel(t *testing.T, b *bench) {
	began := make(chan struct{})
	b.step = func(ctx context.Context, s flow.Step) (json.RawMessage, error) {
		close(began)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	id := b.submit(t, 1)
	var wg sync.WaitGroup
	wg.Go(func() {
		j, err := b.Run(t.Context(), id, jobs.RunOptions{})
		if err != nil || j.Status != jobs.Cancelled {
			t.Errorf("run gives %+v, %v", j, err)
		}
	})
	<-began
	start := time.Now()
	j, err := b.Manager.Cancel(t.Context(), id)
	ok(t, err)
	if j.Status != jobs.Cancelled {
		t.Errorf("job is %+v", j)
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("cancelling took %s", took)
	}
	wg.Wait()
	if f := b.last(t, id, event.JobFinished); f.Status != jobs.Cancelled {
		t.Errorf("final is %+v", f)
	}
	_, err = b.Manager.Cancel(t.Context(), id)
	is(t, err, jobs.ErrFinal)
	_, err = b.Resume(t.Context(), id, jobs.RunOptions{})
	is(t, err, jobs.ErrFinal) // a cancel is for good
}

func cancelFirst(t *testing.T, b *bench) {
	id := b.submit(t, 1)
	j, err := b.Manager.Cancel(t.Context(), id)
	ok(t, err)
	if j.Status != jobs.Cancelled {
		t.Errorf("job is %+v", j)
	}
	_, err = b.Run(t.Context(), id, jobs.RunOptions{})
	is(t, err, jobs.ErrFinal)
}

// atOnce starts many jobs and counts how many of them work.
func atOnce(t *testing.T, b *bench) {
	const most = 2
	var working, peak atomic.Int32
	b.step = func(_ context.Context, s flow.Step) (json.RawMessage, error) {
		for n := working.Add(1); ; {
			p := peak.Load()
			if n <= p || peak.CompareAndSwap(p, n) {
				break
			}
		}
		time.Sleep(5 * time.Millisecond) // for the others to meet this one
		working.Add(-1)
		return s.Input, nil
	}
	var wg sync.WaitGroup
	for range 6 {
		id := b.submit(t, 3)
		wg.Go(func() {
			if j, err := b.Run(t.Context(), id, jobs.RunOptions{AtOnce: most}); err != nil || j.Status != jobs.Done {
				t.Errorf("run gives %+v, %v", j, err)
			}
		})
	}
	wg.Wait()
	if p := peak.Load(); p > most {
		t.Errorf("%d jobs worked at once, want at most %d", p, most)
	}
}

// leaveQueue takes jobs out of the queue before they ran: one is cancelled, one is
// stopped and goes on later.
func leaveQueue(t *testing.T, b *bench) {
	release := make(chan struct{})
	began := make(chan struct{})
	b.step = func(ctx context.Context, s flow.Step) (json.RawMessage, error) {
		select {
		case began <- struct{}{}:
		case <-release:
		}
		<-release
		return s.Input, nil
	}
	ctx, halt := context.WithCancelCause(t.Context())
	var wg sync.WaitGroup
	run := func(ctx context.Context, want jobs.Status, queued chan int) string {
		id := b.submit(t, 1)
		wg.Go(func() {
			j, err := b.Run(ctx, id, jobs.RunOptions{AtOnce: 1, Emit: func(ev event.Event) {
				if ev.Kind == event.JobQueued {
					var d struct{ Position int }
					ok(t, json.Unmarshal(ev.Data, &d))
					queued <- d.Position
				}
			}})
			if err != nil || j.Status != want {
				t.Errorf("%s gives %+v, %v; want it %s", id, j, err, want)
			}
		})
		return id
	}
	run(t.Context(), jobs.Done, nil)
	<-began
	positions := make(chan int, 9)
	second := run(t.Context(), jobs.Cancelled, positions)
	if p := <-positions; p != 1 {
		t.Errorf("the second job is at position %d", p)
	}
	third := run(ctx, jobs.Interrupted, positions)
	if p := <-positions; p != 2 {
		t.Errorf("the third job is at position %d", p)
	}
	_, err := b.Manager.Cancel(t.Context(), second)
	ok(t, err)
	if p := <-positions; p != 1 {
		t.Errorf("behind a cancelled job the third is at position %d", p)
	}
	halt(jobs.ErrStopped)
	j, err := b.Wait(t.Context(), third)
	ok(t, err)
	if j.Status != jobs.Interrupted || j.Lease.Owner != "" || !j.Started.IsZero() {
		t.Errorf("a job that was stopped in the queue is %+v", j)
	}
	if n := b.runs.Load(); n != 1 {
		t.Errorf("%d steps ran, want that of the first job", n)
	}
	if f := b.last(t, second, event.JobFinished); f.Status != jobs.Cancelled {
		t.Errorf("final is %+v", f)
	}
	close(release)
	wg.Wait()
	if j, err := b.Resume(t.Context(), third, jobs.RunOptions{AtOnce: 1}); err != nil || j.Status != jobs.Done {
		t.Errorf("resumed: %+v, %v", j, err)
	}
}

// leaseLost has another runner take the job between two steps.
func leaseLost(t *testing.T, b *bench) {
	var other *jobs.Job
	b.TTL = 30 * time.Millisecond
	id := b.submit(t, 3)
	hook := func(point string, s flow.Step) {
		if point == "begun" && s.Path == "1" {
			// The lease runs out because nobody beats: claim it as a stranger
			// would, again and again until that works.
			for other == nil {
				if j, _, err := b.Store.Claim(t.Context(), id, runner(2), ttl); err == nil {
					other = j
				}
			}
		}
	}
	s := b.Store
	b.Store = &wrapped{s, func(j jobs.Journal) jobs.Journal { return noHeartbeat{j} }}
	_, err := b.Run(t.Context(), id, jobs.RunOptions{Hook: hook})
	is(t, err, jobs.ErrLeaseLost)
	b.Store = s
	j := status(t, s, id, jobs.Running)
	if j.Lease.Token != other.Lease.Token {
		t.Errorf("the lease is %+v, want %+v", j.Lease, other.Lease)
	}
	if n := b.runs.Load(); n > 2 {
		t.Errorf("%d steps were performed, though the lease was lost at the second", n)
	}
	for _, ev := range read(t, s, id, 0) {
		if ev.Kind == event.JobFinished {
			t.Errorf("a runner without lease wrote %+v", ev)
		}
	}
}

// A wrapped store changes the journals of another one.
type wrapped struct {
	jobs.Store
	journal func(jobs.Journal) jobs.Journal
}

func (w *wrapped) Claim(ctx context.Context, id, owner string, ttl time.Duration) (*jobs.Job, jobs.Journal, error) {
	j, journal, err := w.Store.Claim(ctx, id, owner, ttl)
	if err != nil {
		return nil, nil, err
	}
	return j, w.journal(journal), nil
}

// noHeartbeat is a journal whose heartbeats are lost, though its runner takes them
// for kept: with an error it would end by itself, on a slow machine before the
// step at which the lease is to be lost.
type noHeartbeat struct{ jobs.Journal }

func (noHeartbeat) Heartbeat(context.Context, time.Duration) (bool, error) {
	return false, nil
}

func diverged(t *testing.T, b *bench) {
	ctx, halt := context.WithCancelCause(t.Context())
	id := b.submit(t, 2)
	_, err := b.Run(ctx, id, jobs.RunOptions{Hook: func(point string, s flow.Step) {
		if point == "finished" {
			halt(jobs.ErrStopped)
		}
	}})
	ok(t, err)
	status(t, b.Store, id, jobs.Interrupted)
	b.work = func(r *flow.Run, n int) (int, error) { return flow.Do[int](r, "add", "other", n) }
	j, err := b.Resume(t.Context(), id, jobs.RunOptions{})
	ok(t, err)
	if j.Status != jobs.Blocked || j.Reason == "" {
		t.Errorf("job is %+v", j)
	}
}

func noWorkflow(t *testing.T, b *bench) {
	add(t, b.Store, "J1") // of workflow w
	if j := b.run(t, "J1", jobs.Blocked); j.Reason == "" {
		t.Errorf("job is %+v", j)
	}
}

func setup(t *testing.T, b *bench) {
	mux := b.Mux
	bad := func(context.Context, *jobs.Job, flow.Blobs) (flow.Mux, func(), error) {
		return nil, nil, errors.New("the workspace is gone")
	}
	b.Mux = bad
	first := b.submit(t, 1)
	if j := b.run(t, first, jobs.Failed); j.Reason != "the workspace is gone" {
		t.Errorf("job is %+v", j)
	}
	ctx, halt := context.WithCancelCause(t.Context())
	b.Mux = mux
	id := b.submit(t, 2)
	_, err := b.Run(ctx, id, jobs.RunOptions{Hook: func(point string, _ flow.Step) {
		if point == "finished" {
			halt(jobs.ErrStopped)
		}
	}})
	ok(t, err)
	b.Mux = bad
	b.run(t, id, jobs.Interrupted) // what is missing may come back
	b.Mux = mux
	b.run(t, id, jobs.Done)
}

// full is a journal whose disk is full from the n-th outcome on, or from the
// n-th write of events.
type full struct {
	jobs.Journal
	left   *atomic.Int32
	events bool
}

var errFull = errors.New("the disk is full")

func (j *full) Append(ctx context.Context, evs ...event.Event) error {
	if j.events && j.left.Add(-1) < 0 {
		return errFull
	}
	return j.Journal.Append(ctx, evs...)
}

func (j *full) Finish(ctx context.Context, rec *flow.Record) error {
	if !j.events && j.left.Add(-1) < 0 {
		return errFull
	}
	return j.Journal.Finish(ctx, rec)
}

// storeFails must not fail the job: it did nothing wrong.
func storeFails(t *testing.T, b *bench) {
	store, left := b.Store, new(atomic.Int32)
	left.Store(2)
	b.Store = &wrapped{store, func(j jobs.Journal) jobs.Journal { return &full{j, left, false} }}
	id := b.submit(t, 4)
	j := b.run(t, id, jobs.Interrupted)
	if j.Reason != "the store failed: the disk is full; put that right, then resume it" {
		t.Errorf("reason is %q", j.Reason)
	}
	b.Store = store
	if j := b.run(t, id, jobs.Done); string(j.Output) != "6" {
		t.Errorf("job is %+v", j)
	}
}

func eventsFail(t *testing.T, b *bench) {
	store := b.Store
	b.Store = &wrapped{store, func(j jobs.Journal) jobs.Journal { return &full{j, new(atomic.Int32), true} }}
	id := b.submit(t, 4)
	b.run(t, id, jobs.Interrupted)
	b.Store = store
	if j := b.run(t, id, jobs.Done); string(j.Output) != "6" {
		t.Errorf("job is %+v", j)
	}
}

// orderlyEnd: runs that could not finish the job, on a full disk, and released its
// files do not count as crashes, however many they are. Those that did not do.
func orderlyEnd(t *testing.T, b *bench) {
	for _, clean := range []bool{true, false} {
		b.Lock = func(*jobs.Job) (func(), bool, error) { return func() {}, clean, nil }
		id := b.submit(t, 1)
		for range 3 {
			hold(t, b.Store, id, instant)
		}
		j, err := b.Run(t.Context(), id, jobs.RunOptions{})
		if !clean {
			is(t, err, jobs.ErrBlocked)
			continue
		}
		ok(t, err)
		if j.Status != jobs.Done {
			t.Errorf("after three orderly ends the job is %s: %s", j.Status, j.Reason)
		}
		if j.Crashes != 0 {
			t.Errorf("%d crashes are held against it", j.Crashes)
		}
	}
}

// killEverywhere stops a run at every point of every step and resumes it.
func killEverywhere(t *testing.T, b *bench) {
	const steps = 3
	points := 0
	count := func(string, flow.Step) { points++ }
	id := b.submit(t, steps)
	_, err := b.Run(t.Context(), id, jobs.RunOptions{Hook: count})
	ok(t, err)
	if points < 3*steps {
		t.Fatalf("%d steps have only %d points to stop at", steps, points)
	}
	for at := range points {
		ctx, halt := context.WithCancelCause(t.Context())
		id, n := b.submit(t, steps), 0
		j, err := b.Run(ctx, id, jobs.RunOptions{Hook: func(string, flow.Step) {
			if n++; n == at+1 {
				halt(jobs.ErrStopped)
			}
		}})
		ok(t, err)
		if j.Status == jobs.Interrupted {
			j, err = b.Resume(t.Context(), id, jobs.RunOptions{})
			ok(t, err)
		}
		if j.Status != jobs.Done || string(j.Output) != "3" {
			t.Errorf("stopped at point %d, then resumed: %+v", at, j)
		}
		halt(nil)
	}
}
