package sqlite

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// hands is a clock that tests move.
type hands struct {
	wall time.Time
	up   time.Duration
	boot string
	gone map[string]bool
}

func (h *hands) clock() *clock {
	return &clock{
		now:  func() time.Time { return h.wall },
		boot: h.boot,
		up:   func() time.Duration { return h.up },
		gone: func(owner string) bool { return h.gone[owner] },
	}
}

func TestLeaseTakenOver(t *testing.T) {
	h := &hands{wall: time.Now(), boot: "b1", gone: map[string]bool{}}
	d := open(t, filepath.Join(t.TempDir(), "a.db"), Options{clock: h.clock()})
	ctx := t.Context()
	add(t, d, "J")
	first := claim(t, d, "J")
	old := d.Journal("J", first.Lease.Token)

	h.up += ttl / 2
	if _, err := d.Journal("J", first.Lease.Token).Heartbeat(ctx, ttl); err != nil {
		t.Fatal(err)
	}
	h.up += ttl * 3 / 4
	if _, _, err := d.Claim(ctx, "J", "second", ttl); !errors.Is(err, jobs.ErrHeld) {
		t.Fatalf("claim of a beating job: %v", err)
	}
	h.up += ttl
	if j, err := jobs.Find(ctx, d, "J"); err != nil || j.Status != jobs.Interrupted {
		t.Errorf("with a dead lease: %+v, %v", j, err)
	}
	for range d.Events(ctx, "J", 0, true) { // ends, because nobody runs it
	}
	second, _, err := d.Claim(ctx, "J", "second", ttl)
	if err != nil || second.Lease.Token <= first.Lease.Token || second.Crashes != 1 {
		t.Fatalf("takeover: %+v, %v", second, err)
	}

	// Whatever the first still wants to write is refused.
	s := flow.Step{Job: "J", Path: "0"}
	_, begin := old.Begin(ctx, s, time.Time{})
	_, receive := old.Receive(ctx, s, []string{"x"})
	_, load := old.Load(ctx, "J", "")
	put := errors.Join(old.Append(ctx, event.Event{Kind: event.Note}), old.Sync(ctx))
	_, blob := old.Blob(ctx, "x")
	_, beat := d.Journal("J", first.Lease.Token).Heartbeat(ctx, ttl)
	first.Status = jobs.Done
	for what, err := range map[string]error{
		"begin": begin, "receive": receive, "load": load, "append": put, "blob": blob, "beat": beat,
		"finish": old.Finish(ctx, &flow.Record{Job: "J", Path: "0"}),
		"save":   errors.Join(old.Save(ctx, "J", "", flow.State{}), old.Sync(ctx)),
		"settle": d.Journal(first.ID, first.Lease.Token).FinishJob(ctx, first, &event.Event{Kind: event.JobFinished}),
	} {
		if !errors.Is(err, jobs.ErrLeaseLost) {
			t.Errorf("%s by the first runner: %v", what, err)
		}
	}
	if j, err := jobs.Find(ctx, d, "J"); err != nil || j.Status != jobs.Running || j.Lease.Owner != "second" {
		t.Errorf("after that: %+v, %v", j, err)
	}
}

func TestThirdCrashBlocks(t *testing.T) {
	h := &hands{wall: time.Now(), boot: "b1", gone: map[string]bool{"test": true}}
	d := open(t, filepath.Join(t.TempDir(), "a.db"), Options{clock: h.clock()})
	add(t, d, "J")
	for range 3 {
		claim(t, d, "J")
	}
	for range 2 {
		if _, _, err := d.Claim(t.Context(), "J", "test", ttl); !errors.Is(err, jobs.ErrBlocked) {
			t.Fatalf("after three crashes: %v", err)
		}
	}
	switch j, err := jobs.Find(t.Context(), d, "J"); {
	case err != nil:
		t.Errorf("unexpected error: %+v, %v", j, err)
	case j.Status != jobs.Blocked:
		t.Errorf("j.Status is %v, want %v: %+v, %v", j.Status, jobs.Blocked, j, err)
	case j.Reason == "":
		t.Errorf(`j.Reason is "": %+v, %v`, j, err)
	case j.Crashes != 3:
		t.Errorf("j.Crashes is %v, want 3: %+v, %v", j.Crashes, j, err)
	}
	if err := d.Reopen(t.Context(), "J", flow.Reopener{}); err != nil {
		t.Fatal(err)
	}
	if j := claim(t, d, "J"); j.Crashes != 0 {
		t.Errorf("reopened: %+v", j)
	}
}

// TestWallClock moves the wall clock: leases of this boot do not care, leases
// of an earlier boot end.
func TestWallClock(t *testing.T) {
	const year = 365 * 24 * time.Hour
	for _, c := range []struct {
		name   string
		change func(h *hands)
		held   bool
	}{
		{"a year forward", func(h *hands) { h.wall = h.wall.Add(year) }, true},
		{"a year back", func(h *hands) { h.wall = h.wall.Add(-year) }, true},
		{"a year back, and the lease is over", func(h *hands) { h.wall = h.wall.Add(-year); h.up += 2 * ttl }, false},
		{"reboot, at once", func(h *hands) { h.boot, h.up = "b2", 0 }, true},
		{"reboot, within the tolerance", func(h *hands) { h.boot, h.up = "b2", 0; h.wall = h.wall.Add(ttl + tolerance) }, true},
		{"reboot, later", func(h *hands) { h.boot, h.up = "b2", 0; h.wall = h.wall.Add(ttl + tolerance + 1) }, false},
		{"reboot with a clock a year back", func(h *hands) { h.boot, h.up = "b2", 0; h.wall = h.wall.Add(-year) }, false},
		{"process gone", func(h *hands) { h.gone = map[string]bool{"test": true} }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := &hands{wall: time.Now(), up: time.Hour, boot: "b1"}
			path := filepath.Join(t.TempDir(), "a.db")
			d := open(t, path, Options{clock: h.clock()})
			add(t, d, "J")
			claim(t, d, "J")
			c.change(h)
			later := open(t, path, Options{clock: h.clock()})
			_, _, err := later.Claim(t.Context(), "J", "other", ttl)
			if held := errors.Is(err, jobs.ErrHeld); held != c.held || !held && err != nil {
				t.Errorf("claim: %v, want it held: %v", err, c.held)
			}
		})
	}
}
