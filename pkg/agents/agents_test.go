package agents_test

import (
	"context"
	"testing"

	"github.com/adroit-run/adroit/pkg/agents"
)

type runner struct{ got agents.Input }

func (r *runner) Submit(_ context.Context, in agents.Input) (agents.Job, error) {
	r.got = in
	return nil, nil
}

func TestExecute(t *testing.T) {
	a := &agents.DynamicAgent{Name: "counter", Prompt: "Count."}
	if _, err := a.Execute(t.Context(), agents.Input{}); err == nil {
		t.Error("an agent ran on nothing")
	}
	r := &runner{}
	a.Runner = r
	if _, err := a.Execute(t.Context(), agents.Input{Prompt: "p"}); err != nil {
		t.Fatal(err)
	}
	a.Prompt = "changed"
	if r.got.Agent != "counter" || r.got.Prompt != "p" || r.got.Spec.Prompt == "changed" {
		t.Errorf("submitted %+v", r.got)
	}
}
