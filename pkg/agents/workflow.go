package agents

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"github.com/adroit-run/adroit/internal/stored"
	"github.com/adroit-run/adroit/internal/turn"
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
	return stored.Define(name, func(r *flow.Run, in Input) (*executor.State, error) {
		task, err := stored.Do[executor.Task](r, turn.ResolveStep, in.Name(), in)
		if err != nil {
			return nil, err
		}
		if err := stored.Unknown("its revision", strconv.Itoa(task.Revision), task.Revision <= turn.Revision); err != nil {
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

// announce lists in words what the task lacks, for whoever watches.
func announce(t *executor.Task) []string {
	lines := slices.Collect(maps.Values(t.NothingToCheck))
	slices.Sort(lines)
	return slices.Compact(lines)
}

// Runs is the name of the workflow that runs the agent.
func (a *DynamicAgent) Runs() string { return cmp.Or(a.Workflow, Workflow.Name) }
