package adroit

import (
	"encoding/json"
	"testing"

	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// A job's position counts each call once, and leaves out those that only found
// that a person must be asked.
func TestPosition(t *testing.T) {
	rt := &Runtime{}
	events := func(yield func(event.Event, error) bool) {
		for i, ev := range []event.Event{
			{Kind: event.StepFinished, Step: "model", Path: "1"},
			{Kind: event.StepStarted, Step: "tool", Path: "2", Name: "shell"},
			{Kind: event.StepFinished, Step: "tool", Path: "2", Name: "shell", Data: json.RawMessage(`{"asks":true}`)},
			{Kind: event.JobWaiting, Data: json.RawMessage(`{"status":"waiting"}`)},
			{Kind: event.StepFinished, Step: "tool", Path: "4", Name: "shell", Error: "interrupted"},
			{Kind: event.StepFinished, Step: "tool", Path: "4", Name: "shell"},
			{Kind: event.StepStarted, Step: "tool", Path: "5", Name: "write_file"},
		} {
			ev.Seq = int64(i + 1)
			if !yield(ev, nil) {
				return
			}
		}
	}
	log, err := rt.readLog(events)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := *log.position(), (Position{Turns: 1, Calls: 1, Tool: "write_file"}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if log.end != nil || log.final == nil || log.final.Status != jobs.Waiting {
		t.Errorf("the job went on, and its end is %+v, its last outcome %+v", log.end, log.final)
	}
}
