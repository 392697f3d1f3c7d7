package jobstest

import (
	"errors"
	"testing"
	"time"

	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// position checks a job's position in the queue, which is 0 once it has left the queue.
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
	position(t, last, 2, 0) // a job that waits for a person has no place
	ok(t, s.Reopen(t.Context(), "J1", flow.Reopener{}))
	position(t, enqueue(t, s, "J1", 1, ttl), 2, 1)
	ok(t, s.Cancel(t.Context(), "J1", nil))
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
