package workflows_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/configs"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/parts"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workflows"
	"github.com/adroit-run/adroit/pkg/workflows/pipeline"
)

const healed = `
name: healed
onFailure: recovery
recovery: {agent: {prompt: You heal.}}
steps:
  - {id: test, run: make test}
`

// pinnedPipeline is a pipeline as a job pins it.
func pinnedPipeline(t testing.TB, src string) pipeline.Pinned {
	t.Helper()
	set, err := tools.NewSet(parts.Tools()...)
	if err != nil {
		t.Fatal(err)
	}
	cat := agents.Load(agents.Layer{Name: "built in", FS: configs.Agents()})
	p, ps := pipeline.Parse("p.yaml", []byte(src))
	if ps.Err() != nil {
		t.Fatal(ps.Err())
	}
	if p, err = pipeline.Pin(p, pipeline.Known{Tools: set, Agents: cat}); err != nil {
		t.Fatal(err)
	}
	in := agents.Input{Prompt: "Begin.", Model: "m/x", Dir: "/w"}
	var carried []agents.DynamicAgent
	in.Spec, carried = p.Carrier()
	task, err := agents.Resolve(in, cat.With(carried...), set, agents.Env{})
	if err != nil {
		t.Fatal(err)
	}
	return pipeline.Pinned{Pipeline: p, Task: task}
}

// afterwards is what a workflow does about a command that fails: again, agent or
// person.
func afterwards(t testing.TB, wf flow.Workflow, begin any, in agents.Input, failed executor.ToolResult) string {
	t.Helper()
	raw, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	next, stop, _ := flow.Pull(wf, raw)
	defer stop()
	for ran := 0; ; {
		s, reply, ok := next()
		switch {
		case !ok && ran == 0:
			t.Fatal("it ran nothing")
		case !ok:
			return "person"
		case s.Kind == flow.KindAwait && (s.Name == workflows.CancelStages || strings.HasPrefix(s.Name, turn.MessageSignal+"@")):
			reply(nil, &flow.Failure{Code: flow.TimedOut})
		case s.Kind == flow.KindAwait:
			return "person"
		case s.Kind == "resolve" || s.Kind == "pin":
			reply(begin, nil)
		case s.Kind == "model":
			reply(complete.out, nil)
		case s.Kind == flow.KindSleep:
			return "again"
		case s.Kind == flow.KindSpawn:
			return "agent"
		case s.Kind == "tool":
			if ran++; ran > 1 {
				return "again"
			}
			reply(failed, nil)
		default:
			reply(nil, nil)
		}
	}
}

// TestMemoryIsPinned has a stage, a step and tests fail: what was pinned with the tool
// replay_fix asks the memory, and what was pinned before asks for the same steps as it
// did then.
func TestMemoryIsPinned(t *testing.T) {
	text := func(v any) json.RawMessage { b, _ := json.Marshal(v); return b }
	stages := agents.Input{Agent: "validate", Inputs: map[string]json.RawMessage{"stages": text([]m{{"name": "test", "run": "make test", "fix": true}})}}
	picked := agents.Input{Agent: "validate", Inputs: map[string]json.RawMessage{"stages": text([]m{{"name": "test", "run": "make test", "fix": "coordinate"}})}}
	pass := agents.Input{Agent: "until_tests_pass", Prompt: "Round totals."}
	failed := executor.ToolResult{Result: tools.Result{Failed: true, Summary: "exit code 2", Text: "exit code 2 (c1, 9 bytes of output)\n./cart.go:4:13: undefined: c"}}
	piped := agents.Input{Pipeline: "p", Prompt: "Begin."}
	steps := func(wf flow.Workflow, begin any, in agents.Input) (memory int) {
		next, stop, _ := flow.Pull(wf, text(in))
		defer stop()
		for {
			switch s, reply, ok := next(); {
			case !ok || s.Kind == flow.KindSpawn:
				return memory
			case s.Kind == flow.KindAwait:
				reply(nil, &flow.Failure{Code: flow.TimedOut})
			case s.Kind == "resolve" || s.Kind == "pin":
				reply(begin, nil)
			case s.Kind == "model":
				reply(complete.out, nil)
			case s.Kind == "tool":
				reply(failed, nil)
			case s.Kind == "failures":
				memory++
				reply(m{"recall": true}, nil)
			default:
				reply(nil, nil)
			}
		}
	}
	without := func(t executor.Task) executor.Task {
		t.Tools = slices.DeleteFunc(slices.Clone(t.Tools), func(tool executor.Tool) bool { return tool.Name == "replay_fix" })
		return t
	}
	for _, c := range []struct {
		name  string
		wf    flow.Workflow
		task  executor.Task
		in    agents.Input
		known int
	}{
		{"a stage with an agent", workflows.ValidateStages, pinned(t, stages), stages, 2},
		{"a stage with a coordinator", workflows.ValidateStages, pinned(t, picked), picked, 2},
		{"until_tests_pass", workflows.UntilTestsPass, pinned(t, pass), pass, 2},
	} {
		if now, before := steps(c.wf, c.task, c.in), steps(c.wf, without(c.task), c.in); now != c.known || before != 0 {
			t.Errorf("%s: %d steps of the memory, want %d; pinned before: %d", c.name, now, c.known, before)
		}
	}
	for src, want := range map[string]int{
		"name: p\nonFailure: coordinate\nsteps:\n  - {id: test, run: make test}\n":                                                          2,
		"name: p\nsteps:\n  - {id: test, run: make test, retries: 1, onFailure: continue}\n":                                                0,
		"name: p\nonFailure: coordinate\nrecovery: {agent: {prompt: Heal.}}\nsteps:\n  - {id: test, run: make test, onFailure: recovery}\n": 0,
	} {
		pin := pinnedPipeline(t, src)
		now := steps(pipeline.Workflow, pin, piped)
		pin.Task = without(pin.Task)
		if before := steps(pipeline.Workflow, pin, piped); now != want || before != 0 {
			t.Errorf("%d steps of the memory, want %d; pinned before: %d\n%s", now, want, before, src)
		}
	}
}

// TestDecideAlike has the same failures in a command of adroit fix, a step of a
// pipeline with a recovery agent, a stage of a validation and the tests of
// until_tests_pass: all decide alike, and in jobs that began before code decided
// the agent is asked as it was then.
func TestDecideAlike(t *testing.T) {
	text := func(v any) json.RawMessage { b, _ := json.Marshal(v); return b }
	for _, c := range []struct{ name, summary, output, want string }{
		{"missing program", "exit code 127", "/bin/sh: 1: nosuchprogram: not found", "person"},
		{"disk full", "exit code 1", "write out.o: no space left on device", "person"},
		{"rights", "exit code 126", "/bin/sh: 1: ./run.sh: Permission denied", "person"},
		{"login", "exit code 1", "npm error code ENEEDAUTH", "person"},
		{"wrong version", "exit code 1", "go: go.mod requires go >= 1.99 (running go 1.26.8)", "person"},
		{"memory", "exit code 137", "Killed", "person"},
		{"time", "stopped after 10m0s, which was its time limit", "", "person"},
		{"lock", "exit code 1", "E: Could not get lock /var/lib/dpkg/lock", "again"},
		{"address", "exit code 1", "listen tcp :8080: bind: address already in use", "again"},
		{"test", "exit code 1", "--- FAIL: TestTotal (0.00s)\nFAIL", "again"},
		{"build", "exit code 2", "./cart.go:4:13: undefined: c", "agent"},
		{"types", "exit code 2", "src/a.ts(3,7): error TS2322: Type 'string' is not assignable", "agent"},
		{"dependency", "exit code 1", "a.go:3:8: no required module provides package x.y/z", "agent"},
		{"nothing known", "exit code 9", "oh", "agent"},
	} {
		t.Run(c.name, func(t *testing.T) {
			end := turn.ParseEnding(c.summary)
			failed := executor.ToolResult{Result: tools.Result{Failed: true, Summary: c.summary, Text: c.summary + " (c1, 9 bytes of output)\n" + c.output,
				Value: text(turn.CommandResult{ID: "c1", Code: end.Code, TimedOut: end.TimedOut, Output: c.output})}}
			stages := agents.Input{Agent: "validate", Inputs: map[string]json.RawMessage{"stages": text([]m{{"name": "test", "run": "make test", "fix": true}})}}
			fix := agents.Input{Agent: "coordinator", Inputs: map[string]json.RawMessage{"command": text("make test")}}
			pass := agents.Input{Agent: "until_tests_pass", Prompt: "Round totals."}
			pin := pinnedPipeline(t, healed)
			piped := agents.Input{Pipeline: "healed", Prompt: "Begin."}
			for what, got := range map[string]string{
				"fix":              afterwards(t, workflowOf(t, "coordinate"), pinned(t, fix), fix, failed),
				"pipeline":         afterwards(t, pipeline.Workflow, pin, piped, failed),
				"validate":         afterwards(t, workflows.ValidateStages, pinned(t, stages), stages, failed),
				"until_tests_pass": afterwards(t, workflows.UntilTestsPass, pinned(t, pass), pass, failed),
			} {
				if got != c.want {
					t.Errorf("%s: %s, want %s", what, got, c.want)
				}
			}
			before, old := pinned(t, stages), pinned(t, pass)
			before.Revision, old.Revision, pin.Task.Revision = 1, 1, 1
			if got := afterwards(t, pipeline.Workflow, pin, piped, failed); got != "agent" {
				t.Errorf("pipeline pinned before: %s", got)
			}
			if got := afterwards(t, workflows.UntilTestsPass, old, pass, failed); got != "agent" {
				t.Errorf("until_tests_pass pinned before: %s", got)
			}
			want := "agent"
			if c.summary == "exit code 126" || c.summary == "exit code 127" || strings.HasPrefix(c.summary, "stopped") {
				want = "person"
			}
			if got := afterwards(t, workflows.ValidateStages, before, stages, failed); got != want {
				t.Errorf("validate pinned before: %s, want %s", got, want)
			}
		})
	}
}
