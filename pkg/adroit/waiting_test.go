package adroit_test

import (
	"errors"
	"testing"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/llm"
)

// A job that a Go workflow leads, and that waits, is what the store has: it has no
// outcome yet.
func TestWaitingWorkflow(t *testing.T) {
	ask := agents.Define("ask", func(sc *executor.Scope) error {
		_, err := flow.AwaitAny(sc.Run, map[string]string{"digest": "d1"}, 0, "approve@a", "deny@a")
		return err
	})
	rt, err := adroit.Open(t.Context(), adroit.Options{
		Models:      map[string]llm.Model{"m": struct{ llm.Model }{}},
		Definitions: adroit.Definitions{Workflows: []flow.Workflow{ask}},
		Workspace:   adroit.Workspace{Dir: t.TempDir()},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	job, err := rt.Agent(agents.DynamicAgent{Name: "asker", Description: "d", Prompt: "p", Model: "m/x", Workflow: "ask"}).Execute(t.Context(), agents.Input{Prompt: "go"})
	if err != nil {
		t.Fatal(err)
	}
	s, err := job.Wait(t.Context())
	status := new(adroit.StatusError)
	if !errors.As(err, &status) || status.Job.Status != jobs.Waiting {
		t.Fatalf("%v, want the status waiting", err)
	}
	if s != nil && s.Outcome != nil {
		t.Errorf("a job that waits has the outcome %+v", s.Outcome)
	}
}
