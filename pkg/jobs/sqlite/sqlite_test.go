package sqlite

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/jobs"
)

const ttl = 10 * time.Minute // longer than any test, on a loaded machine as well

func open(t testing.TB, path string, o Options) *DB {
	t.Helper()
	d, err := Open(t.Context(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

func fresh(t testing.TB) *DB { return open(t, filepath.Join(t.TempDir(), "data", "a.db"), Options{}) }

func add(t testing.TB, d *DB, id string) *jobs.Job {
	t.Helper()
	j, err := d.Add(t.Context(), &jobs.Job{ID: id, Workflow: "w", Input: []byte(`{"a":1}`)})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func claim(t testing.TB, d *DB, id string) *jobs.Job {
	t.Helper()
	j, _, err := d.Claim(t.Context(), id, "test", ttl)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func TestLife(t *testing.T) {
	d := fresh(t)
	ctx := t.Context()
	add(t, d, "J1")
	j := claim(t, d, "J1")
	if _, _, err := d.Claim(ctx, "J1", "other", ttl); !errors.Is(err, jobs.ErrHeld) {
		t.Errorf("second claim: %v", err)
	}
	if err := d.appendEvents(ctx, event.Event{Job: "J1", Kind: event.JobStarted}, event.Event{Job: "J1", Kind: event.Delta}, event.Event{Job: "J1", Kind: event.Note}); err != nil {
		t.Fatal(err)
	}
	jr := d.Journal("J1", j.Lease.Token)
	s := flow.Step{Job: "J1", Path: "0", Kind: "k", Input: []byte(`1`)}
	if rec, err := jr.Begin(ctx, s, time.Time{}); rec != nil || err != nil {
		t.Fatal(rec, err)
	}
	switch rec, err := jr.Begin(ctx, s, time.Time{}); {
	case err != nil:
		t.Fatalf("unexpected error: %v %v", rec, err)
	case rec == nil:
		t.Fatalf("rec is nil: %v %v", rec, err)
	case rec.Done:
		t.Fatalf("rec.Done is true: %v %v", rec, err)
	case rec.Sum != s.Sum():
		t.Fatalf("rec.Sum is not s.Sum(): %v %v", rec, err)
	}
	j.Status, j.Reason, j.Output = jobs.Done, "because", []byte(`"out"`)
	if err := d.Journal(j.ID, j.Lease.Token).FinishJob(ctx, j, &event.Event{Kind: event.JobFinished}); err != nil {
		t.Fatal(err)
	}
	if _, err := jr.Begin(ctx, s, time.Time{}); !errors.Is(err, jobs.ErrLeaseLost) {
		t.Errorf("journal after settle: %v", err)
	}
	if _, _, err := d.Claim(ctx, "J1", "test", ttl); !errors.Is(err, jobs.ErrFinal) {
		t.Errorf("claim of an ended job: %v", err)
	}
	var got string
	for ev, err := range d.Events(ctx, "J1", 0, true) {
		if err != nil {
			t.Fatal(err)
		}
		got += fmt.Sprintf("%d %s;", ev.Seq, ev.Kind)
	}
	if want := "1 job.started;2 note;3 job.finished;"; got != want {
		t.Errorf("events %q, want %q", got, want)
	}
	back, err := jobs.Find(ctx, d, "J1")
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case back.Status != jobs.Done:
		t.Errorf("back.Status is %v, want %v: job %+v", back.Status, jobs.Done, back)
	case back.Reason != "because":
		t.Errorf(`back.Reason is %v, want "because": job %+v`, back.Reason, back)
	case string(back.Output) != `"out"`:
		t.Errorf("string(back.Output) is %v, want `\"out\"`: job %+v", string(back.Output), back)
	case string(back.Input) != `{"a":1}`:
		t.Errorf("string(back.Input) is %v, want `{\"a\":1}`: job %+v", string(back.Input), back)
	case back.Finished.IsZero():
		t.Errorf("back.Finished.IsZero() is true: job %+v", back)
	case back.Lease.Owner != "":
		t.Errorf(`back.Lease.Owner is %v, want "": job %+v`, back.Lease.Owner, back)
	}
	if err := d.Remove(ctx, "J1"); err != nil {
		t.Fatal(err)
	}
	if _, err := jobs.Find(ctx, d, "J1"); !errors.Is(err, jobs.ErrNotExist) {
		t.Errorf("after remove: %v", err)
	}
}

// appendEvents keeps events without a claim of their jobs.
func (d *DB) appendEvents(ctx context.Context, evs ...event.Event) error {
	return d.do(ctx, func(t *tx) error {
		for _, ev := range evs {
			if err := t.log(ev.Job, []event.Event{ev}); err != nil {
				return err
			}
		}
		return nil
	})
}
