package agents

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
)

// Workflow runs one agent on one request. Its input is an [Input], its output
// an executor.State.
var Workflow = define("agent", executor.Loop)

// Define makes a workflow of a function that decides by itself what comes next
// instead of leaving it to the model: body gets the task that the agent's file
// and the request make. An agent names it by its front matter, as
// workflow: NAME. The job is done if body returns nil and the agent's
// definition of done holds.
func Define(name string, body func(*executor.Scope) error) flow.Workflow {
	return define(name, func(r *flow.Run, t executor.Task) (*executor.State, error) {
		sc := executor.NewScope(r, t)
		return sc.Finish(body(sc))
	})
}

func define(name string, body func(*flow.Run, executor.Task) (*executor.State, error)) flow.Workflow {
	return flow.Define(name, func(r *flow.Run, in Input) (*executor.State, error) {
		task, err := flow.Do[executor.Task](r, resolving, in.Name(), in)
		if err != nil {
			return nil, err
		}
		for _, words := range announce(&task) {
			if err := r.Note("%s", words); err != nil {
				return nil, err
			}
		}
		task.Messages = in.Parent == nil
		own, err := r.Part(task.Agent)
		if err != nil {
			return nil, err
		}
		s, err := body(own, task)
		if s != nil && in.Parent != nil {
			s.Attribute(task.Model)
		}
		return s, err
	})
}

// resolving is the kind of the first step of every agent job. It pins the task:
// from there on the job does not depend on agent files, configuration or the
// tools' prose.
const resolving = "resolve"

// Routes performs "resolve" steps with resolver, which is [Resolve] bound to
// a catalog, tools and defaults. It is called once in the life of a job.
func Routes(resolver func(ctx context.Context, in Input) (executor.Task, error)) flow.Mux {
	return flow.Mux{resolving: {
		Safe: flow.Always,
		Handler: func(ctx context.Context, s flow.Step, _ event.Sink) (json.RawMessage, error) {
			var in Input
			if err := json.Unmarshal(s.Input, &in); err != nil {
				return nil, fmt.Errorf("resolve %s: decoding input: %w", s.Name, err)
			}
			task, err := resolver(ctx, in)
			if err != nil {
				return nil, err
			}
			return json.Marshal(task)
		},
		Describe: func(_ flow.Step, out json.RawMessage) (string, json.RawMessage) {
			var t executor.Task
			if json.Unmarshal(out, &t) != nil {
				return "", nil
			}
			data, err := json.Marshal(map[string]any{"model": t.Model, "window": t.Options.Window, "tools": len(t.Tools)})
			if err != nil {
				return "", nil
			}
			return fmt.Sprintf("%s with %d tools", t.Model, len(t.Tools)), data
		},
	}}
}
