package jobs

import (
	"context"
	"encoding/json"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/adroit-run/adroit/internal/system/exhaustion"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/flow"
)

// A recalled step gets an event of its own exactly if the log may lack what it
// says: a spawn has no data, and is the only event that names its sub-agent.
func TestRecorderRecalled(t *testing.T) {
	logged := map[string]bool{"2": true, "4": true}
	data := json.RawMessage(`{"usage":{}}`)
	for _, c := range []struct {
		name string
		ev   event.Event
		own  bool
	}{
		{"nothing to report", event.Event{Path: "1", Step: "claim"}, false},
		{"counted, in the log", event.Event{Path: "2", Step: "model", Data: data}, false},
		{"counted, not in the log", event.Event{Path: "3", Step: "model", Data: data}, true},
		{"a sub-agent in the log", event.Event{Path: "4", Step: flow.KindSpawn, Name: "leaf"}, false},
		{"a sub-agent not in the log", event.Event{Path: "5", Step: flow.KindSpawn, Name: "leaf"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			store := new(Memory)
			if _, err := store.Add(t.Context(), &Job{ID: "J1", Workflow: "w"}); err != nil {
				t.Fatal(err)
			}
			job, journal, err := store.Claim(t.Context(), "J1", "test", time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			r := &recorder{ctx: t.Context(), journal: journal, fail: func(err error) { t.Error(err) }}
			r.logged = func(path string) bool { return logged[path] }
			c.ev.Job, c.ev.Kind = job.ID, event.StepRecalled
			r.emit(c.ev)
			if err := r.close(t.Context()); err != nil {
				t.Fatal(err)
			}
			var got []event.Event
			for ev, err := range store.Events(t.Context(), job.ID, 0, false) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, ev)
			}
			if len(got) != 1 {
				t.Fatalf("%d events, want one", len(got))
			}
			if own := got[0].Step != ""; own != c.own {
				t.Errorf("event of its own: %v, want %v", own, c.own)
			}
		})
	}
}

// A fullJournal can make nothing durable until there is room.
type fullJournal struct {
	Journal
	syncs, room chan struct{}
}

func (j *fullJournal) Sync(ctx context.Context) error {
	j.syncs <- struct{}{}
	<-j.room
	return j.Journal.Sync(ctx)
}

// A run that waits for the host reports it at once, and once until it is written: the
// report is a write that waits, too.
func TestWaitIsReportedOnce(t *testing.T) {
	store := new(Memory)
	if _, err := store.Add(t.Context(), &Job{ID: "J1", Workflow: "w"}); err != nil {
		t.Fatal(err)
	}
	job, journal, err := store.Claim(t.Context(), "J1", "test", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	full := &fullJournal{journal, make(chan struct{}), make(chan struct{})}
	seen := make(chan event.Event, 10)
	r := &Session{m: new(Manager), job: job, journal: full}
	r.rec = &recorder{ctx: t.Context(), journal: full, live: func(ev event.Event) { seen <- ev }, fail: func(err error) { t.Error(err) }}
	for range 2 { // shortages
		var first sync.WaitGroup
		first.Go(func() { r.reportHostWait(exhaustion.Disk, syscall.ENOSPC) })
		<-full.syncs
		if len(seen) != 1 {
			t.Fatalf("%d reports before there is room, want one", len(seen))
		}
		for range 3 {
			r.reportHostWait(exhaustion.Disk, syscall.ENOSPC)
		}
		full.room <- struct{}{}
		first.Wait()
		if ev := <-seen; ev.Text != "waiting: the disk is full" || len(seen) > 0 {
			t.Errorf("reported %+v and %d more", ev, len(seen))
		}
	}
}
