package pipeline

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
)

// An Input is a request to a pipeline: one to an agent, and which pipeline. Its
// Agent is the pipeline's name, for lists of jobs.
type Input struct {
	agents.Input
	Pipeline string `json:"pipeline"`
}

// Pinned is a pipeline as a job runs it, with all that it names by value.
type Pinned struct {
	Pipeline *Pipeline     `json:"pipeline"`
	Task     executor.Task `json:"task"` // with the tools of its steps, and their agents to spawn
	// Models are those that a recovery may change to.
	Models []string `json:"models,omitempty"`
}

// pinning is the kind of the first step of every pipeline's job. From there on
// the job does not depend on any file.
const pinning = "pin"

// Routes performs "pin" steps with pin, which looks the pipeline up, checks it
// with [Pin] and resolves its task. It is called once in the life of a job.
func Routes(pin func(ctx context.Context, in Input) (Pinned, error)) flow.Mux {
	return flow.Mux{pinning: {
		Safe: flow.Always,
		Handler: func(ctx context.Context, s flow.Step, _ event.Sink) (json.RawMessage, error) {
			var in Input
			if err := json.Unmarshal(s.Input, &in); err != nil {
				return nil, fmt.Errorf("pipeline %s: decoding input: %w", s.Name, err)
			}
			got, err := pin(ctx, in)
			if err != nil {
				return nil, err
			}
			return json.Marshal(got)
		},
		Describe: func(_ flow.Step, out json.RawMessage) (string, json.RawMessage) {
			var got Pinned
			if json.Unmarshal(out, &got) != nil || got.Pipeline == nil {
				return "", nil
			}
			return fmt.Sprintf("%s with %d steps", got.Pipeline.Name, len(got.Pipeline.Steps)), nil
		},
	}}
}

// Pin gives the pipeline with its agents and its pipelines by value, so that
// nothing of it changes when a file does. It fails with an *agents.ProblemError
// if [Lint] finds that it cannot be used.
func Pin(p *Pipeline, k Known) (*Pipeline, error) {
	if err := Lint(p, k).Err(); err != nil {
		return nil, err
	}
	return (&pinner{k: k, taken: map[string]string{}}).pipeline(p)
}

type pinner struct {
	k     Known
	taken map[string]string // names of agents, to what they are
}

func (n *pinner) pipeline(p *Pipeline) (*Pipeline, error) {
	b, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("pipeline %s: %w", p.Name, err)
	}
	out := new(Pipeline)
	if err := json.Unmarshal(b, out); err != nil {
		return nil, fmt.Errorf("pipeline %s: %w", p.Name, err)
	}
	if out.Recovery != nil {
		if err := n.agent(&out.Recovery.Agent, out.Defaults, decisionSchema); err != nil {
			return nil, err
		}
	}
	return out, n.steps(out.Steps, out.Defaults)
}

func (n *pinner) steps(steps []Step, d Defaults) error {
	for i := range steps {
		s := &steps[i]
		if s.Agent != nil {
			if err := n.agent(s.Agent, d, nil); err != nil {
				return err
			}
		}
		if s.Pipeline != nil && s.Pipeline.Spec == nil {
			found, err := n.k.Pipelines.Lookup(s.Pipeline.Name)
			if err == nil {
				err = Lint(found, n.k).Err()
			}
			if err != nil {
				return fmt.Errorf("step %s: %w", s.ID, err)
			}
			if s.Pipeline.Spec, err = n.pipeline(found); err != nil {
				return err
			}
		}
		if err := n.steps(s.Parallel, d); err != nil {
			return err
		}
	}
	return nil
}

// agent puts an agent in by value, under a name that no other one has.
func (n *pinner) agent(a *Agent, d Defaults, output json.RawMessage) error {
	inline := a.Spec != nil
	if !inline {
		found, err := n.k.Agents.Lookup(a.Name)
		if err != nil {
			return err
		}
		spec := *found
		a.Spec = &spec
	}
	if a.Spec.Model == "" {
		a.Spec.Model = d.Model
	}
	a.Spec.Limits = a.Spec.Limits.Or(d.Limits)
	if output != nil {
		a.Spec.Output = output
	}
	b, err := json.Marshal(a.Spec)
	if err != nil {
		return fmt.Errorf("agent %s: %w", a.Name, err)
	}
	// One that is written out must not take the place of one with the same name
	// that other agents may spawn.
	names := n.k.Agents.Names()
	name := a.Spec.Name
	for i := 2; ; i++ {
		was, taken := n.taken[name]
		if taken && was == string(b) || !taken && (!inline || !slices.Contains(names, name)) {
			break
		}
		name = fmt.Sprintf("%s-%d", a.Spec.Name, i)
	}
	n.taken[name] = string(b)
	a.Name, a.Spec.Name = name, name
	return nil
}

// Carrier gives the agent that a job of a pinned pipeline is resolved with, and
// a catalog that has its agents beside those of cat. It has the tools of the
// steps and may spawn their agents; no model gets to read its prompt.
func (p *Pipeline) Carrier(cat *agents.Catalog) (*agents.DynamicAgent, *agents.Catalog) {
	a := &agents.DynamicAgent{Name: p.Name, Description: p.Description, Inputs: p.Inputs, Workflow: Workflow.Name, Prompt: "A pipeline."}
	depth := 0
	var names []string
	p.walk(func(s *Step) {
		switch {
		case s.Run != "":
			a.Tools = append(a.Tools, shell)
		case s.Tool != "":
			a.Tools = append(a.Tools, s.Tool)
		}
	}, func(found *Agent) {
		names = append(names, found.Name)
		cat = cat.With(*found.Spec)
		if sp := found.Spec.Spawn; sp != nil {
			depth = max(depth, sp.Depth, executor.SpawnDepth)
		}
	})
	slices.Sort(a.Tools)
	a.Tools = slices.Compact(a.Tools)
	slices.Sort(names)
	if names = slices.Compact(names); len(names) > 0 {
		a.Spawn = &agents.Spawn{Agents: names, Depth: depth + 1, FanOut: executor.SpawnFanOut, Total: maxMaxSteps}
	}
	return a, cat
}

// walk calls step for all steps, those of groups and of pinned pipelines too,
// and agent for all agents that are pinned.
func (p *Pipeline) walk(step func(*Step), agent func(*Agent)) {
	if p.Recovery != nil && p.Recovery.Agent.Spec != nil {
		agent(&p.Recovery.Agent)
	}
	var each func([]Step)
	each = func(steps []Step) {
		for i := range steps {
			s := &steps[i]
			step(s)
			if s.Agent != nil && s.Agent.Spec != nil {
				agent(s.Agent)
			}
			each(s.Parallel)
			if s.Pipeline != nil && s.Pipeline.Spec != nil {
				s.Pipeline.Spec.walk(step, agent)
			}
		}
	}
	each(p.Steps)
}

// Models lists the models that a pipeline names itself, sorted.
func (p *Pipeline) Models() []string {
	out := []string{p.Defaults.Model}
	p.walk(func(s *Step) {
		out = append(out, s.Model)
		if s.Pipeline != nil && s.Pipeline.Spec != nil {
			out = append(out, s.Pipeline.Spec.Defaults.Model)
		}
	}, func(a *Agent) { out = append(out, a.Spec.Model) })
	slices.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(m string) bool { return m == "" })
}

// Prompted reports whether the pipeline reads {{input}}.
func (p *Pipeline) Prompted() bool {
	l := &linter{report: report{src: p.Source}, p: p, ids: map[string]string{}}
	found := false
	l.each(p.Steps, "steps", func(key string, s *Step) {
		for _, r := range l.reads(key, s) {
			found = found || r.path[0] == "input"
		}
	})
	return found
}
