package flow_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/flow"
)

// A poll takes what was sent, does not wait, and finds the same when the run is
// replayed, whatever was sent since; a parked run is not what it makes.
func TestPoll(t *testing.T) {
	ctx, j := context.Background(), new(flow.Memory)
	wf := flow.Define("polls", func(r *flow.Run, _ struct{}) (out []string, err error) {
		for range 3 {
			s, ok, err := flow.Poll(r, "stop", "halt")
			if err != nil {
				return nil, err
			}
			if !ok {
				s.Name = "-"
			}
			out = append(out, s.Name)
		}
		return out, r.Report(map[string]int{"n": len(out)}, "polled %d times", len(out))
	})
	run := func() (string, []event.Event) {
		var seen []event.Event
		e := flow.NewLocal(ctx, j, nil, func(ev event.Event) { seen = append(seen, ev) })
		e.Park = true
		out, err := wf.Run(flow.NewRun("j", e), nil)
		if err != nil {
			t.Fatal(err)
		}
		return string(out), seen
	}
	for _, name := range []string{"other", "halt"} {
		if err := j.Send(ctx, "j", flow.Signal{Name: name}); err != nil {
			t.Fatal(err)
		}
	}
	out, seen := run()
	if out != `["halt","-","-"]` {
		t.Errorf("polled %s", out)
	}
	last := seen[len(seen)-1]
	switch {
	case last.Kind != event.Note:
		t.Errorf("last.Kind is %v, want %v: reported %+v", last.Kind, event.Note, last)
	case last.Text != "polled 3 times":
		t.Errorf(`last.Text is %v, want "polled 3 times": reported %+v`, last.Text, last)
	case !json.Valid(last.Data):
		t.Errorf("json.Valid(last.Data) is false: reported %+v", last)
	case string(last.Data) != `{"n":3}`:
		t.Errorf("string(last.Data) is %v, want `{\"n\":3}`: reported %+v", string(last.Data), last)
	}
	if err := j.Send(ctx, "j", flow.Signal{Name: "stop"}); err != nil {
		t.Fatal(err)
	}
	if again, _ := run(); again != out {
		t.Errorf("replayed as %s", again)
	}
}
