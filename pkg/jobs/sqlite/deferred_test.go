package sqlite

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/jobs"
)

func perform(t *testing.T, j jobs.Journal, s flow.Step) {
	t.Helper()
	if _, err := j.Begin(t.Context(), s, time.Time{}); err != nil {
		t.Fatal(err)
	}
	if err := j.Finish(t.Context(), &flow.Record{Job: s.Job, Path: s.Path, Kind: s.Kind, Sum: s.Sum(), Output: json.RawMessage(`1`)}); err != nil {
		t.Fatal(err)
	}
}

// TestDeferredTurn counts the commits of a turn: the outcome of each step is one,
// the intent of a step that must not be repeated another; events and the
// checkpoint have none of their own.
func TestDeferredTurn(t *testing.T) {
	d := fresh(t)
	add(t, d, "J")
	j := d.Journal("J", claim(t, d, "J").Lease.Token)
	for _, c := range []struct {
		repeatable bool
		want       int64
	}{{true, 2}, {false, 3}} {
		before := d.Commits()
		perform(t, j, flow.Step{Job: "J", Path: "0", Kind: "model", Repeatable: true, Input: json.RawMessage(`2`), Keep: true})
		if err := j.Append(t.Context(), event.Event{Kind: event.Note}); err != nil {
			t.Fatal(err)
		}
		if in, err := j.Blob(t.Context(), flow.Digest([]byte(`2`))); err != nil || string(in) != "2" {
			t.Fatalf("kept input: %s, %v", in, err)
		}
		perform(t, j, flow.Step{Job: "J", Path: "1", Kind: "tool", Repeatable: c.repeatable})
		got := d.Commits() - before
		if err := errors.Join(j.Save(t.Context(), "J", "", flow.State{Next: 2}), j.Sync(t.Context())); err != nil {
			t.Fatal(err)
		}
		// A slow machine may flush in between.
		if got < c.want || got > c.want+2 {
			t.Errorf("repeatable %v: %d commits, want %d", c.repeatable, got, c.want)
		}
	}
	if st, err := j.Load(t.Context(), "J", ""); err != nil || st.Next != 2 {
		t.Errorf("loaded %+v, %v", st, err)
	}
}

// TestDeferredWaits looks from another connection: what waits is there within a
// moment, though nobody syncs.
func TestDeferredWaits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	d, other := open(t, path, Options{}), open(t, path, Options{})
	add(t, d, "J")
	j := d.Journal("J", claim(t, d, "J").Lease.Token)
	if err := j.Append(t.Context(), event.Event{Kind: event.Note, Text: "hello"}); err != nil {
		t.Fatal(err)
	}
	for ev, err := range other.Events(t.Context(), "J", 0, true) {
		if err != nil || ev.Text != "hello" {
			t.Errorf("event %+v, %v", ev, err)
		}
		break
	}
}

// TestDeferredLost: a journal that could not write what waited refuses
// everything that comes after it.
func TestDeferredLost(t *testing.T) {
	d := fresh(t)
	add(t, d, "J")
	first := claim(t, d, "J")
	j := d.Journal("J", first.Lease.Token)
	if err := j.Append(t.Context(), event.Event{Kind: event.Note}); err != nil {
		t.Fatal(err)
	}
	if err := d.Journal("J", first.Lease.Token).FinishJob(t.Context(), &jobs.Job{Status: jobs.Waiting}, nil); err != nil {
		t.Fatal(err)
	}
	if err := j.Sync(t.Context()); !errors.Is(err, jobs.ErrLeaseLost) {
		t.Fatalf("sync: %v", err)
	}
	if err := j.Append(t.Context(), event.Event{Kind: event.Note}); !errors.Is(err, jobs.ErrLeaseLost) {
		t.Errorf("a write after a lost one: %v", err)
	}
}
