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

	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/llm"
)

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
	for _, other := range []*jobs.Job{{Workflow: "work", Agent: "debugger"}, {Workflow: "work", Request: "another"}} {
		other.Key, other.Input = "k2", in
		if _, err := b.Submit(t.Context(), &jobs.Job{Workflow: "work", Input: in, Key: "k2", Request: "one"}); err != nil {
			t.Error(err)
		}
		_, err := b.Submit(t.Context(), other)
		is(t, err, jobs.ErrKey)
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
		Usage   llm.Usage      `json:"usage"`
		Outcome map[string]any `json:"outcome"`
	}
	b.Workflows = append(b.Workflows, flow.Define("agent", func(*flow.Run, int) (state, error) {
		return state{3, llm.Usage{In: 10, Out: 2}, map[string]any{"limit": "turns", "unmet": []string{"tests"}, "summary": "half"}}, limited{}
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
