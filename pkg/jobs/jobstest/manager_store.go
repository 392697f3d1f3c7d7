package jobstest

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/jobs"
)

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
