package adroit_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/jobs/sqlite"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/models/script"
)

// strict is boss for a workflow that fails with its sub-agents.
var strict = agents.Define("boss", func(sc *executor.Scope) error {
	plan, err := executor.AITurn[planned](sc, executor.Turn{Prompt: "Plan: " + sc.Task.Prompt})
	if err != nil {
		return err
	}
	var orders []executor.SubAgentRequest
	for _, p := range plan.Parts {
		orders = append(orders, executor.SubAgentRequest{Agent: "counter", Prompt: p})
	}
	reps, err := sc.SpawnAll(orders...)
	if err != nil {
		return err
	}
	var words []string
	for _, rep := range reps {
		words = append(words, string(rep.Artifacts["words"])+" "+rep.Summary)
	}
	if err := sc.Bind("counts", words); err != nil {
		return err
	}
	_, err = executor.AITurn[string](sc, executor.Turn{Prompt: "Sum up: " + strings.Join(words, "; ")})
	return err
})

// Whichever request of a workflow with sub-agents fails for good, the job goes
// on there when it is resumed: to the same end, with the same accounts, and no
// model is asked twice for what it has answered.
func TestResumeAfterAnyRequest(t *testing.T) {
	o := bossed(t, bossScript, map[string]string{"boss": bossFile, "counter": counterFile})
	o.Workflows = []flow.Workflow{strict}
	for n := int64(1); n <= 8; n++ {
		model, err := script.Parse("boss", []byte(bossScript))
		if err != nil {
			t.Fatal(err)
		}
		var asked, answered atomic.Int64
		o.Data = filepath.Join(t.TempDir(), "data")
		o.Store = sqlite.Store(o.Data)
		o.Models = map[string]llm.Model{"script": llm.Func(func(ctx context.Context, req *llm.Request, emit func(llm.Delta)) (*llm.Response, error) {
			if asked.Add(1) == n {
				return nil, &llm.Error{Kind: llm.Auth, Message: "bad key"}
			}
			answered.Add(1)
			return model.Generate(ctx, req, emit)
		})}
		rt, err := adroit.Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		job, err := adroit.Start(t.Context(), rt, adroit.Request{Input: agents.Input{Agent: "boss", Prompt: "the words"}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = job.Wait(t.Context())
		if asked.Load() >= n {
			if err == nil {
				t.Fatalf("request %d: the job is done although it failed", n)
			}
			if job, err = resume(t, rt, job.ID()); err != nil {
				t.Fatal(err)
			}
			_, err = job.Wait(t.Context())
		}
		j, jerr := jobs.Find(t.Context(), manager(t, rt).Store, job.ID())
		if jerr != nil {
			t.Fatal(jerr)
		}
		s := new(executor.State)
		switch jerr := json.Unmarshal(j.Output, s); {
		case err != nil:
			t.Errorf("unexpected error: request %d: %s: %s, %v; %d answers, %+v, %+v", n, j.Status, j.Reason, err, answered.Load(), s.Usage, s.SubAgents)
		case jerr != nil:
			t.Errorf("jerr is %v: request %d: %s: %s, %v; %d answers, %+v, %+v", jerr, n, j.Status, j.Reason, err, answered.Load(), s.Usage, s.SubAgents)
		case j.Status != jobs.Done:
			t.Errorf("j.Status is %v, want %v: request %d: %s: %s, %v; %d answers, %+v, %+v", j.Status, jobs.Done, n, j.Status, j.Reason, err, answered.Load(), s.Usage, s.SubAgents)
		case s.SubAgents.Usage.In != 620:
			t.Errorf("s.SubAgents.Usage.In is %v, want 620: request %d: %s: %s, %v; %d answers, %+v, %+v", s.SubAgents.Usage.In, n, j.Status, j.Reason, err, answered.Load(), s.Usage, s.SubAgents)
		case s.Usage.In != 60:
			t.Errorf("s.Usage.In is %v, want 60: request %d: %s: %s, %v; %d answers, %+v, %+v", s.Usage.In, n, j.Status, j.Reason, err, answered.Load(), s.Usage, s.SubAgents)
		case answered.Load() != 7:
			t.Errorf("answered.Load() is not 7: request %d: %s: %s, %v; %d answers, %+v, %+v", n, j.Status, j.Reason, err, answered.Load(), s.Usage, s.SubAgents)
		}
		if err := rt.Close(); err != nil {
			t.Error(err)
		}
	}
}

// resume goes on with a job.
func resume(t *testing.T, rt *adroit.Runtime, ref string) (*adroit.Job, error) {
	job, err := adroit.Find(t.Context(), rt, ref)
	if err == nil {
		_, err = job.Start(t.Context(), adroit.StartOptions{})
	}
	return job, err
}
