package adroit

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/adroit-run/adroit/internal/builtin/control"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/jobs/sqlite"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/models/script"
	"github.com/adroit-run/adroit/pkg/tools"
)

func runtime(t *testing.T, turns string, o Options) *Runtime {
	t.Helper()
	m, err := script.Parse("turns", []byte(turns))
	if err != nil {
		t.Fatal(err)
	}
	o.Models, o.Model = map[string]llm.Model{"script": m}, "script/x"
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	rt, err := Open(t.Context(), o)
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

// A data directory in the workspace is refused before there is a job, also
// through a link and where it does not exist yet.
func TestDataOutsideOfTheWorkspace(t *testing.T) {
	ws, models := t.TempDir(), map[string]llm.Model{"script": nil}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(ws, link); err != nil {
		t.Fatal(err)
	}
	refused := func(data, dir string) {
		t.Helper()
		rt := runtime(t, "turns: [{text: Done.}]", Options{Storage: Storage{Data: data, Store: sqlite.Store(t.TempDir())}, Workspace: Workspace{Dir: ws}})
		_, err := rt.Agent(agents.DynamicAgent{Name: "a", Description: "d", Prompt: "p"}).Execute(t.Context(), agents.Input{Prompt: "x", Dir: dir})
		if err == nil || !strings.Contains(err.Error(), "cannot be a workspace") {
			t.Errorf("data in %s, work in %q: %v", data, dir, err)
		}
		if list, err := rt.Jobs(t.Context(), ListOptions{}); err != nil || len(list) != 0 {
			t.Errorf("jobs %v, %v", list, err)
		}
	}
	for _, data := range []string{ws, filepath.Join(ws, "data"), filepath.Join(ws, "a/b/c"), filepath.Join(link, "data")} {
		refused(data, "")
	}
	data := t.TempDir()
	if _, err := Open(t.Context(), Options{Models: models, Workspace: Workspace{Dir: ws}, Storage: Storage{Data: t.TempDir()}}); err == nil || !strings.Contains(err.Error(), "write Store: sqlite.Store(dir)") {
		t.Errorf("data without a store: %v", err)
	}
	refused(data, filepath.Dir(data))
	t.Chdir(ws)
	refused("data", "")
}

// Ended jobs of a runtime in memory are released, with their directories, but for those that somebody
// has a handle on: their results and events are still to be read.
func TestEndedJobsAreReleased(t *testing.T) {
	reads := tools.New(tools.Metadata{Name: "reads", Description: "Read.", Needs: tools.Read},
		func(context.Context, *tools.Env, struct{}) (string, error) { return "", nil })
	rt := runtime(t, "turns: [{text: Done.}]", Options{Tools: []tools.Tool{reads}})
	a := rt.Agent(agents.DynamicAgent{Name: "a", Description: "d", Prompt: "p", Tools: []string{"reads"}})
	const many = keepEnded + 20
	var held []*Job
	for range many {
		job, err := a.Execute(t.Context(), agents.Input{Prompt: "x"})
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, job)
	}
	for _, job := range slices.Backward(held) {
		if s, err := job.Wait(t.Context()); err != nil || s.Last != "Done." {
			t.Fatalf("%+v, %v", s, err)
		}
		events := 0
		for _, err := range job.Events(t.Context(), EventOptions{}) {
			if err != nil {
				t.Fatal(err)
			}
			events++
		}
		if events == 0 {
			t.Error("a job has no events")
		}
	}
	held = nil
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		goruntime.GC()
		rt.mu.Lock()
		left := len(rt.handles)
		rt.mu.Unlock()
		if left == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d handles are left", left)
		}
	}
	rt.unlooked = many
	rt.release()
	m, err := rt.Manager(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	list, err := m.Store.List(t.Context(), jobs.Query{})
	if err != nil || len(list) != keepEnded {
		t.Errorf("%d jobs are kept, want %d: %v", len(list), keepEnded, err)
	}
	if dirs, err := os.ReadDir(rt.home); err != nil || len(dirs) > keepEnded {
		t.Errorf("%d directories are kept: %v", len(dirs), err)
	}
}

// A caller's deadline is one: its error says so, and so does the job. Resume takes last.
func TestDeadlineOfTheCaller(t *testing.T) {
	wait := make(chan struct{})
	slow := tools.New(tools.Metadata{Name: "slow", Description: "Wait.", Needs: tools.Read}, func(ctx context.Context, _ *tools.Env, _ struct{}) (string, error) {
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-wait:
			return "slept", nil
		}
	})
	rt := runtime(t, "turns:\n  - calls: [{name: slow}]\n  - text: Done.", Options{Tools: []tools.Tool{slow}})
	ctx, stop := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer stop()
	_, err := Run(ctx, rt, Request{Input: agents.Input{Spec: &agents.DynamicAgent{Name: "a", Description: "d", Prompt: "p", Tools: []string{"slow"}}, Prompt: "x"}})
	var status *StatusError
	if !errors.Is(err, context.DeadlineExceeded) || !errors.As(err, &status) || !strings.Contains(err.Error(), "the caller's time is over") {
		t.Fatalf("it ends with %v", err)
	}
	close(wait)
	job, err := resume(t, rt, "last")
	if err != nil {
		t.Fatal(err)
	}
	if s, err := job.Wait(t.Context()); err != nil || s.Last != "Done." {
		t.Errorf("it goes on to %+v, %v", s, err)
	}
}

// A panic in Emit ends neither the process nor the job: the log has it.
func TestEmitPanics(t *testing.T) {
	calls := 0
	rt := runtime(t, "turns:\n  - text: Done.", Options{Callbacks: Callbacks{Emit: func(event.Event) {
		if calls++; calls == 2 {
			panic("a fault of the caller")
		}
	}}})
	s, err := Run(t.Context(), rt, Request{Input: agents.Input{Spec: &agents.DynamicAgent{Name: "a", Description: "d", Prompt: "p"}, Prompt: "x"}})
	if err != nil || s.Last != "Done." || calls != 2 {
		t.Fatalf("it ends with %+v, %v after %d calls", s, err, calls)
	}
	noted := false
	for ev, err := range rt.Events(t.Context(), "last", EventOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		noted = noted || ev.Kind == event.Note && strings.Contains(ev.Text, "a fault of the caller")
	}
	if !noted {
		t.Error("the log does not have it")
	}
}

// Workflows that a job could not name are refused.
func TestWorkflowNames(t *testing.T) {
	own := agents.Define("own", func(*executor.Scope) error { return nil })
	for name, list := range map[string][]flow.Workflow{
		`called "agent", which is one of adroit's own`: {agents.Define("agent", func(*executor.Scope) error { return nil })},
		`two workflows are called "own"`:               {own, own},
		"has no name":                                  {{}},
	} {
		if rt, err := Open(t.Context(), Options{Definitions: Definitions{Workflows: list}}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("it is opened: %v, want %s", err, name)
			if rt != nil {
				_ = rt.Close()
			}
		}
	}
}

// A request with the key of a job that has ended can be started: nothing is done again.
func TestStartAgainByKey(t *testing.T) {
	rt := runtime(t, "turns:\n  - text: Done.", Options{})
	r := Request{JobConfig: JobConfig{}, Input: agents.Input{Spec: &agents.DynamicAgent{Name: "a", Description: "d", Prompt: "p"}, Prompt: "x"}, Key: "k"}
	for range 2 {
		s, err := rt.Submit(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := rt.Start(t.Context(), s.Job.ID, StartOptions{}); err != nil {
			t.Fatal(err)
		}
		if j, err := rt.Wait(t.Context(), s.Job.ID); err != nil || j.Status != jobs.Done {
			t.Fatalf("%+v, %v", j, err)
		}
	}
}

// A workflow that waits for a signal can say what it asks.
func TestAwaitSaysWhatItAsks(t *testing.T) {
	asks := agents.Define("asks", func(sc *executor.Scope) error {
		_, err := flow.Await[string](sc.Run, "colour", 0, "Which colour?")
		return err
	})
	rt := runtime(t, "turns:\n  - text: Done.", Options{Definitions: Definitions{Workflows: []flow.Workflow{asks}}})
	_, err := Run(t.Context(), rt, Request{Input: agents.Input{Spec: &agents.DynamicAgent{Name: "a", Description: "d", Prompt: "p", Workflow: "asks"}, Prompt: "x"}})
	if err == nil {
		t.Fatal("it does not wait")
	}
	d, err := rt.Job(t.Context(), "last")
	if err != nil || len(d.Questions) != 1 || string(d.Questions[0].About) != `"Which colour?"` {
		t.Errorf("it asks %+v, %v", d.Questions, err)
	}
}

// A tool can stop its job, also from within a sub-agent: no model is asked again, and
// resuming makes the call again.
func TestToolStopsItsJob(t *testing.T) {
	for name, turns := range map[string]string{
		"alone":       "turns:\n  - calls: [{name: charge}]\n  - text: Done.",
		"a sub-agent": "turns:\n  - calls: [{name: spawn_agent, args: {agent: payer, task: Charge it.}}]\n  - text: Done.\nscenes:\n  - when: Charge it.\n    turns:\n      - calls: [{name: charge}]\n      - text: Charged.",
	} {
		closed := true
		charge := tools.New(tools.Metadata{Name: "charge", Description: "Charge the account.", Needs: tools.Think}, func(context.Context, *tools.Env, struct{}) (string, error) {
			if closed {
				return "", tools.Fatal(&flow.InfrastructureError{Err: errors.New("the account is closed")})
			}
			return "charged", nil
		})
		payer := "---\nname: payer\ndescription: Pay.\ntools: [charge]\n---\nYou pay.\n"
		layer := agents.Layer{Name: "own", FS: fstest.MapFS{"payer.md": {Data: []byte(payer)}}}
		rt := runtime(t, turns, Options{Tools: []tools.Tool{charge, control.Spawn}, Definitions: Definitions{Agents: []agents.Layer{layer}}})
		a := agents.DynamicAgent{Name: "a", Description: "d", Prompt: "p", Tools: []string{"charge"}}
		if name != "alone" {
			a.Tools, a.Spawn = []string{"spawn_agent"}, &agents.Spawn{Agents: []string{"payer"}}
		}
		_, err := Run(t.Context(), rt, Request{Input: agents.Input{Spec: &a, Prompt: "x"}})
		if err == nil || !strings.Contains(err.Error(), "the account is closed; put that right, then resume it") {
			t.Fatalf("%s: it ends with %v", name, err)
		}
		if d, err := rt.Job(t.Context(), "last"); err != nil || d.Job.Status != jobs.Interrupted || !strings.Contains(d.Job.Reason, "the account is closed") {
			t.Errorf("%s: %+v, %v", name, d, err)
		}
		closed = false
		job, err := resume(t, rt, "last")
		if err != nil {
			t.Fatal(err)
		}
		if s, err := job.Wait(t.Context()); err != nil || s.Last != "Done." {
			t.Errorf("%s: it goes on to %+v, %v", name, s, err)
		}
	}
}

// Ask ends by itself with a model that never does.
func TestAskEnds(t *testing.T) {
	n := 0
	count := tools.New(tools.Metadata{Name: "count", Description: "Count.", Needs: tools.Think}, func(context.Context, *tools.Env, struct{}) (int, error) {
		n++
		return n, nil
	})
	m, err := script.Parse("turns", []byte("turns:\n"+strings.Repeat("  - calls: [{name: count}]\n", 2*executor.DefaultLimits.Turns)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Ask(t.Context(), m, "Count for ever.", count); err == nil || n > executor.DefaultLimits.Turns {
		t.Errorf("after %d calls: %v", n, err)
	}
}

// What a program left out is named, and no panic.
func TestWhatIsNil(t *testing.T) {
	if rt, err := Open(t.Context(), Options{Models: map[string]llm.Model{"x": nil}, Callbacks: Callbacks{Middleware: []func(ToolHandler) ToolHandler{nil}}}); err == nil || !strings.Contains(err.Error(), "Options.Middleware[0] is nil") {
		t.Errorf("middleware: %v, %v", rt, err)
	}
	rt := runtime(t, "turns: [{text: Done.}]", Options{Storage: Storage{Store: func(context.Context) (jobs.Store, error) { return nil, nil }}})
	if _, err := rt.Jobs(t.Context(), ListOptions{}); err == nil || !strings.Contains(err.Error(), "returned no store") {
		t.Errorf("store: %v", err)
	}
}

// resume goes on with a job.
func resume(t *testing.T, rt *Runtime, ref string) (*Job, error) {
	job, err := Find(t.Context(), rt, ref)
	if err == nil {
		_, err = job.Start(t.Context(), StartOptions{})
	}
	return job, err
}
