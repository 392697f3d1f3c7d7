package jobstest

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/jobs"
)

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
	var st struct{ Resumed bool }
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
	j, err := b.Manager.Cancel(t.Context(), id, nil)
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
	_, err = b.Manager.Cancel(t.Context(), id, nil)
	is(t, err, jobs.ErrFinal)
	_, err = b.Resume(t.Context(), id, jobs.RunOptions{})
	is(t, err, jobs.ErrFinal) // a cancel is for good
}

// cancelWins cancels a job when its run has decided to leave it as one that goes on.
func cancelWins(t *testing.T, b *bench) {
	for _, leave := range []string{"waiting", "interrupted", "blocked"} {
		ctx, halt := context.WithCancelCause(t.Context())
		var id string
		b.work = func(r *flow.Run, _ int) (int, error) {
			var err error
			switch leave {
			case "waiting":
				_, err = flow.AwaitAny(r, "may I?", 0, "approve", "deny")
			case "interrupted":
				halt(jobs.ErrStopped)
				err = context.Cause(ctx)
			case "blocked":
				err = &flow.DivergedError{}
			}
			ok(t, b.Store.Cancel(t.Context(), id, nil))
			return 0, err
		}
		id = b.submit(t, 1)
		j, err := b.Run(ctx, id, jobs.RunOptions{Park: true})
		ok(t, err)
		halt(nil)
		if j.Status != jobs.Cancelled || j.Reason != "cancelled" {
			t.Errorf("cancelled when it was about to be %s, it is %s (%s)", leave, j.Status, j.Reason)
		}
		if f := b.last(t, id, event.JobFinished); f.Status != jobs.Cancelled || f.Waiting != nil {
			t.Errorf("final is %+v", f)
		}
		is(t, b.Store.Cancel(t.Context(), id, nil), jobs.ErrFinal)
	}
}

// cancelDead cancels a job whose runner dies before it sees that.
func cancelDead(t *testing.T, b *bench) {
	id := b.submit(t, 1)
	hold(t, b.Store, id, time.Second)
	j, err := b.Manager.Cancel(t.Context(), id, nil)
	ok(t, err)
	if j.Status != jobs.Cancelled {
		t.Errorf("job is %+v", j)
	}
}

func cancelFirst(t *testing.T, b *bench) {
	id := b.submit(t, 1)
	j, err := b.Manager.Cancel(t.Context(), id, nil)
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
	_, err := b.Manager.Cancel(t.Context(), second, nil)
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
