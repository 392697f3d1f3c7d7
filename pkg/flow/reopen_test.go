package flow_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/flow"
)

// TestReopenUnknown reopens a run three times whose step may have happened, as an older
// version recorded it: the step stays interrupted, and is not performed again.
func TestReopenUnknown(t *testing.T) {
	j, performed := new(flow.Memory), 0
	once := func() error {
		mux := flow.Mux{"post": {Handler: func(context.Context, flow.Step, event.Sink) (json.RawMessage, error) {
			performed++
			return json.RawMessage(`{}`), nil
		}}}
		r := flow.NewRun("J", flow.NewLocal(t.Context(), j, mux, nil))
		_, err := flow.Do[struct{}](r, "post", "it", 1)
		return errors.Join(err, r.Note("it is over"))
	}
	s := flow.Step{Job: "J", Path: "0", Kind: "post", Name: "it", Input: json.RawMessage("1")}
	if _, err := j.Begin(t.Context(), s, flow.Record{}.Deadline); err != nil {
		t.Fatal(err)
	}
	old := &flow.Record{Job: "J", Path: "0", Kind: "post", Name: "it", Sum: s.Sum(), Done: true, Failure: &flow.Failure{Code: flow.Interrupted, Message: "interrupted"}}
	if err := j.Finish(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	if err := once(); err == nil || performed != 0 {
		t.Fatalf("performed %d times, %v", performed, err)
	}
	o := flow.Reopener{Unknown: func(rec flow.Record, _ json.RawMessage) bool { return rec.Failure.Code == flow.Interrupted }}
	for range 3 {
		plan, err := o.Plan(j.History("J"))
		if err != nil || !slices.Equal(plan.Again, []string{"0"}) || !slices.Equal(plan.Forget, []string{"1"}) {
			t.Fatalf("the plan is %+v, %v", plan, err)
		}
		j.Reopen("J", plan)
		var se *flow.StepError
		if err := once(); !errors.As(err, &se) || !se.Undecided || performed != 0 {
			t.Errorf("performed %d times, %v", performed, err)
		}
	}
	if !j.History("J").Unknown["0"] {
		t.Error("nobody knows any more that an attempt may have happened")
	}
}
