package jobs

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/adroit-run/adroit/internal/flow/stepkind"
	"github.com/adroit-run/adroit/pkg/event"
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
		{"a sub-agent in the log", event.Event{Path: "4", Step: stepkind.Spawn, Name: "leaf"}, false},
		{"a sub-agent not in the log", event.Event{Path: "5", Step: stepkind.Spawn, Name: "leaf"}, true},
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
