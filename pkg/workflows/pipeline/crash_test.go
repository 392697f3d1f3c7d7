package pipeline_test

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/host"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/flow/flowtest"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/models/script"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workflows/pipeline"
)

// sh is a tool shell that runs nothing: a command fails if it says so.
var sh = tools.New(tools.Metadata{Name: "shell", Description: "Run.", Category: "build", Effect: tools.Pure},
	func(_ context.Context, _ *tools.Env, in struct {
		Command  string `json:"command"`
		TimeoutS int    `json:"timeout_s,omitempty"`
	}) (tools.Result, error) {
		if strings.Contains(in.Command, "fail") {
			value, err := json.Marshal(turn.CommandResult{ID: "c1", Code: 1})
			return tools.Result{Text: "It went wrong.", Failed: true, Value: value}, err
		}
		value, err := json.Marshal(turn.CommandResult{ID: "c1", Output: "ran\n\n"})
		return tools.Result{Text: "It went well.", Value: value}, err
	})

const turns = `
scenes:
  - when: You heal.
    turns: [{text: '{"decision": "skip", "diagnosis": "It cannot work."}'}]
  - when: You break.
    turns:
      - {text: half, calls: [{name: shell, args: {command: look}}], usage: {in: 5, out: 1}}
      - calls: [{name: shell, args: {command: fail}}]
      - {text: TOO LATE}
  - when: You plan.
    turns: [{text: '{"parts": ["a", "b"]}', usage: {in: 7, out: 2}}]
  - when: You do.
    turns: [{calls: [{name: shell, args: {command: work}}]}, {text: did it, usage: {in: 3, out: 1}}]
`

// all has something of every kind.
const all = `
name: all
onFailure: recovery
recovery: {agent: {prompt: You heal.}}
variables: {n: 0}
steps:
  - {id: plan, agent: {prompt: You plan.}, input: "{{input}}", output: plan}
  - {id: breaks, agent: {prompt: You break., tools: [shell], limits: {turns: 1}}, input: "x", output: half, retries: {attempts: 1, backoff: 1ms}, timeout: 10m}
  - {id: ask, await: {signal: go, question: "{{half}}?"}, output: said}
  - id: group
    parallel:
      - {id: a, agent: {prompt: You do., tools: [shell]}, input: "{{plan.parts.0}}", output: a}
      - {id: b, agent: {prompt: You do., tools: [shell]}, input: "{{plan.parts.1}}"}
      - {id: c, run: fail, onFailure: continue}
  - {id: loop, run: again, output: out, until: {var: out, is: never}, max: 2, onFailure: continue}
  - {id: back, run: fail, onFailure: turn, onSuccess: end}
  - {id: turn, run: ok, onSuccess: in}
  - {id: in, pipeline: inner, input: "{{said.word}} {{a}}", output: last}
  - {id: skipped, run: ok, when: {var: last, is: nothing}}
`

const inner = `
name: inner
steps:
  - {id: one, run: ok}
  - {id: two, agent: {prompt: You do., tools: [shell]}, input: "{{input}} {{steps.one.output}}"}
`

// pinned binds a pipeline as the command line does.
func pinned(t testing.TB, in agents.Input, src string, more ...*pipeline.Pipeline) pipeline.Pinned {
	t.Helper()
	p, ps := pipeline.Parse("p.yaml", []byte(src))
	if ps.Err() != nil {
		t.Fatal(ps.Err())
	}
	set := shells(t)
	p, err := pipeline.Pin(p, pipeline.Known{Tools: set, Pipelines: (*pipeline.Catalog)(nil).With(more...)})
	if err != nil {
		t.Fatal(err)
	}
	in.Spec, in.Pipeline = nil, ""
	carrier, carried := p.Carrier()
	in.Spec = carrier
	task, err := agents.Resolve(in, (*agents.Catalog)(nil).With(carried...), set, agents.Env{Defaults: agents.Defaults{Model: "script"}})
	if err != nil {
		t.Fatal(err)
	}
	return pipeline.Pinned{Pipeline: p, Task: task}
}

func shells(t testing.TB) *tools.Set {
	set, err := tools.NewSet(sh)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// serve performs the steps of a pipeline's job with a scripted model.
func serve(t testing.TB, pin pipeline.Pinned, blobs flow.Blobs, turns string) flow.Mux {
	m, err := script.Parse("turns", []byte(turns))
	if err != nil {
		t.Fatal(err)
	}
	set := shells(t)
	mux := host.Serve(host.Host{Tools: set, Blobs: blobs,
		Models: func(context.Context, string) (llm.Model, string, error) { return m, "script", nil }})
	for kind, r := range agents.Routes(func(_ context.Context, in agents.Input) (executor.Task, error) {
		return agents.Resolve(in, nil, set, agents.Env{Defaults: agents.Defaults{Model: "script"}})
	}) {
		mux[kind] = r
	}
	for kind, r := range pipeline.Routes(func(context.Context, agents.Input) (pipeline.Pinned, error) { return pin, nil }) {
		mux[kind] = r
	}
	return mux
}

var times = regexp.MustCompile(`,?"(took|spent)_ns":\d+`)

// timeless is the workflow with a result that does not tell how long it took.
var timeless = flow.Workflow{Name: pipeline.Workflow.Name, Run: func(r *flow.Run, in json.RawMessage) (json.RawMessage, error) {
	out, err := pipeline.Workflow.Run(r, in)
	return times.ReplaceAll(out, nil), err
}}

// TestKilledAnywhere kills a pipeline with a step of every kind at each point it
// comes through. It ends each time as if nothing had been.
func TestKilledAnywhere(t *testing.T) {
	sub, ps := pipeline.Parse("inner.yaml", []byte(inner))
	if ps.Err() != nil {
		t.Fatal(ps.Err())
	}
	in := agents.Input{Agent: "all", Pipeline: "all", Prompt: "the task"}
	pin := pinned(t, in, all, sub)
	input, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	j := new(flow.Memory)
	h := flowtest.Harness{
		Run: func(_ testing.TB, q flowtest.Request) (json.RawMessage, error) { return flowtest.Local(j, q) },
		Send: func(t testing.TB, job string, sig flow.Signal) {
			if err := j.Send(t.Context(), job, sig); err != nil {
				t.Error(err)
			}
		},
	}
	q := flowtest.Request{Ctx: t.Context(), Workflow: timeless, Known: []flow.Workflow{agents.Workflow}, Input: input, Mux: serve(t, pin, j, turns)}
	whole := q
	whole.Job = "whole"
	h.Send(t, "whole", flow.Signal{Name: "go", Value: json.RawMessage(`{"word": "yes"}`)})
	out, err := flowtest.Local(j, whole)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var s executor.State
	var res pipeline.Result
	if err := errors.Join(json.Unmarshal(out, &s), json.Unmarshal(s.Value("pipeline"), &res)); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range res.Rows {
		got = append(got, r.ID+" "+r.Status)
	}
	want := "plan done, breaks skipped, ask done, group done, loop failed, back failed, turn done, in done, skipped skipped"
	if strings.Join(got, ", ") != want {
		t.Errorf("the steps were\n%s\nwant\n%s", strings.Join(got, ", "), want)
	}
	switch {
	case s.Last != "did it":
		t.Errorf(`s.Last is %v, want "did it": last words %q, second row %+v, used %+v`, s.Last, s.Last, res.Rows[1], s.SubAgents)
	case res.Rows[1].Diagnosis != "It cannot work.":
		t.Errorf(`res.Rows[1].Diagnosis is %v, want "It cannot work.": last words %q, second row %+v, used %+v`, res.Rows[1].Diagnosis, s.Last, res.Rows[1], s.SubAgents)
	case res.Rows[1].Attempts != 2:
		t.Errorf("res.Rows[1].Attempts is %v, want 2: last words %q, second row %+v, used %+v", res.Rows[1].Attempts, s.Last, res.Rows[1], s.SubAgents)
	case s.SubAgents.Usage.In < 7+5+3*3:
		t.Errorf("s.SubAgents.Usage.In < 7+5+3*3: last words %q, second row %+v, used %+v", s.Last, res.Rows[1], s.SubAgents)
	}
	if testing.Short() {
		return
	}
	flowtest.Crash(t, h, q, flow.Signal{Name: "go", Value: json.RawMessage(`{"word": "yes"}`)})
}
