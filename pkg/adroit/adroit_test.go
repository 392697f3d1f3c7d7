package adroit_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/configs"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/jobs/sqlite"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/models/script"
	"github.com/adroit-run/adroit/pkg/parts"
	"github.com/adroit-run/adroit/pkg/tools"
)

func scripted(t testing.TB, src string) map[string]llm.Model {
	t.Helper()
	m, err := script.Parse("turns", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	return map[string]llm.Model{"script": m}
}

func open(t testing.TB, o adroit.Options) *adroit.Runtime {
	t.Helper()
	if o.Model == "" {
		o.Model = "script/turns"
	}
	rt, err := adroit.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := rt.Close(); err != nil {
			t.Error(err)
		}
	})
	return rt
}

func manager(t testing.TB, rt *adroit.Runtime) *jobs.Manager {
	t.Helper()
	m, err := rt.Manager(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestDemo runs the demonstration that ships: the builder with real files,
// edits and tests.
func TestDemo(t *testing.T) {
	dir := t.TempDir()
	if err := configs.WriteDemo(dir, configs.DemoGo); err != nil {
		t.Fatal(err)
	}
	rt := open(t, adroit.Options{
		Tools: parts.Tools(), Models: scripted(t, string(configs.DemoTurns(configs.DemoGo))), Workspace: adroit.Workspace{Dir: dir},
		Definitions: adroit.Definitions{Agents: []agents.Layer{{Name: "built in", FS: configs.Agents()}}},
	})
	job, err := adroit.Start(t.Context(), rt, adroit.Request{Target: "builder", Input: agents.Input{Prompt: configs.DemoPrompt}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := job.Wait(t.Context())
	if err != nil {
		for ev := range manager(t, rt).Store.Events(t.Context(), job.ID(), 0, false) {
			t.Logf("%s %s %s %s", ev.Kind, ev.Name, ev.Text, ev.Error)
		}
		t.Fatal(err)
	}
	if s.Turns != 3 || s.Outcome.Reason != "finish called, diff produced, run_tests passed" {
		t.Errorf("done in %d turns: %s", s.Turns, s.Outcome.Reason)
	}
	b, err := os.ReadFile(filepath.Join(dir, "cart.go"))
	if err != nil || !strings.Contains(string(b), "amount := float64(c.Subtotal())") {
		t.Errorf("cart.go was not repaired: %v", err)
	}
}

// TestResume closes a runtime in the middle of a job and goes on in another.
func TestResume(t *testing.T) {
	data, began := t.TempDir(), make(chan struct{})
	slow := func(wait bool) tools.Tool {
		return tools.New(tools.Metadata{Name: "wait", Description: "Wait.", Produces: []string{"waited"}},
			func(ctx context.Context, _ *tools.Env, _ struct{}) (string, error) {
				if wait {
					close(began)
					<-ctx.Done()
					return "", ctx.Err()
				}
				return "waited", nil
			})
	}
	const turns = "turns:\n  - calls: [{name: wait}]\n  - text: It is over."
	agent := agents.DynamicAgent{Name: "waiter", Description: "Wait.", Prompt: "You wait.", Tools: []string{"wait"}}
	first := open(t, adroit.Options{Tools: []tools.Tool{slow(true)}, Models: scripted(t, turns), Storage: adroit.Storage{Data: data, Store: sqlite.Store(data)}})
	job, err := first.Agent(agent).Execute(t.Context(), agents.Input{Prompt: "Wait."})
	if err != nil {
		t.Fatal(err)
	}
	<-began
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = job.Wait(t.Context())
	if se := new(adroit.StatusError); !errors.As(err, &se) || se.Job.Status != jobs.Interrupted {
		t.Fatalf("the job ended with %v", err)
	}
	if _, err := adroit.Start(t.Context(), first, adroit.Request{Input: agents.Input{Spec: &agent, Prompt: "x"}}); err == nil {
		t.Error("a closed runtime took a job")
	}

	asked := 0
	second := open(t, adroit.Options{Tools: []tools.Tool{slow(false)}, Models: scripted(t, turns), Storage: adroit.Storage{Data: data, Store: sqlite.Store(data)}, Callbacks: adroit.Callbacks{Emit: func(ev event.Event) {
		if ev.Kind == event.StepStarted && ev.Step == "model" {
			asked++
		}
	}}})
	again, err := resume(t, second, job.ID())
	if err != nil {
		t.Fatal(err)
	}
	s, err := again.Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if s.Turns != 2 || s.Last != "It is over." || asked != 1 {
		t.Errorf("done in %d turns with %q, %d asked after resuming", s.Turns, s.Last, asked)
	}
}

func TestStop(t *testing.T) {
	rt := open(t, adroit.Options{Models: scripted(t, "turns:\n  - text: Soon.\nloop: true")})
	job, err := rt.Agent(agents.DynamicAgent{Name: "a", Description: "d", Prompt: "x", Done: executor.Criterion{Signal: "DONE"}, Limits: executor.Limits{Turns: 3}}).
		Execute(t.Context(), agents.Input{Prompt: "x"})
	if err != nil {
		t.Fatal(err)
	}
	s, err := job.Wait(t.Context())
	switch stop := new(executor.StopError); {
	case !errors.As(err, &stop):
		t.Errorf("errors.As(err, &stop) is false: stopped with %v, %+v", err, s)
	case stop.Outcome.Status == executor.Done:
		t.Errorf("stop.Outcome.Status is executor.Done: stopped with %v, %+v", err, s)
	case s == nil:
		t.Errorf("s is nil: stopped with %v, %+v", err, s)
	case s.Turns < 3:
		t.Errorf("s.Turns < 3: stopped with %v, %+v", err, s)
	}
}

func TestRefuse(t *testing.T) {
	if _, err := adroit.Open(t.Context(), adroit.Options{}); err == nil {
		t.Error("a runtime without models")
	}
	rt := open(t, adroit.Options{Models: scripted(t, "turns:\n  - text: x")})
	for _, in := range []agents.Input{
		{Agent: "nobody", Prompt: "x"},
		{Spec: &agents.DynamicAgent{Name: "a", Description: "d", Prompt: "x", Tools: []string{"no_such"}}, Prompt: "x"},
		{Spec: &agents.DynamicAgent{Name: "a", Description: "d", Prompt: "x"}, Prompt: "x", Model: "other/x"},
	} {
		if _, err := adroit.Start(t.Context(), rt, adroit.Request{Input: in}); err == nil {
			t.Errorf("took %+v", in)
		}
	}
	if list, err := manager(t, rt).Store.List(t.Context(), jobs.Query{}); err != nil || len(list) != 0 {
		t.Errorf("refused requests left %d jobs, %v", len(list), err)
	}
}
