package pipeline

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/workflows/coordinator"
)

// Pin gives the pipeline with its agents and its pipelines by value, so that
// nothing of it changes when a file does. It fails with agents.Problems
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
		if err := n.agent(&out.Recovery.Agent, p, decisionSchema); err != nil {
			return nil, err
		}
	}
	return out, n.steps(out.Steps, p)
}

func (n *pinner) steps(steps []Step, of *Pipeline) error {
	for i := range steps {
		s := &steps[i]
		if s.Agent != nil {
			if err := n.agent(s.Agent, of, nil, s.MCPServers...); err != nil {
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
		if err := n.steps(s.Parallel, of); err != nil {
			return err
		}
	}
	return nil
}

// agent puts an agent in by value, under a name that no other one has, with the
// tools of more servers.
func (n *pinner) agent(a *Agent, of *Pipeline, output json.RawMessage, servers ...string) error {
	d, inline := of.Defaults, a.Spec != nil
	if inline {
		a.Spec.Source.Layer = of.Source.Layer
	} else {
		found, err := n.k.Agents.Lookup(a.Name)
		if err != nil {
			return err
		}
		a.Spec = found
	}
	spec := agents.ByValue(a.Spec, n.k.Tools)
	a.Spec = &spec
	a.Spec.MCPServers = append(slices.Clip(a.Spec.MCPServers), servers...)
	a.Spec.Model = cmp.Or(a.Spec.Model, d.Model)
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
// the agents that must be in the catalog then. It has the tools of the steps and
// may spawn their agents; no model gets to read its prompt. Its model is the
// first that is named, if all agents name one, and [NoModel] if there are none.
func (p *Pipeline) Carrier() (*agents.DynamicAgent, []agents.DynamicAgent) {
	a := &agents.DynamicAgent{Name: p.Name, Description: cmp.Or(p.Description, "A pipeline."), Inputs: p.Inputs, Workflow: Workflow.Name, Limits: p.Limits, Prompt: "A pipeline.", Model: NoModel}
	depth, open := 0, false
	var names []string
	var all []agents.DynamicAgent
	asks := func(model string) {
		open = open || model == ""
		if a.Model == NoModel {
			a.Model = model
		}
	}
	if r := p.Recovery; r != nil && r.Agent.Spec != nil {
		asks(cmp.Or(r.Model, r.Agent.Spec.Model, p.Defaults.Model))
	}
	p.walk(func(s *Step) {
		switch {
		case s.Agent != nil && s.Agent.Spec != nil:
			asks(cmp.Or(s.Model, s.Agent.Spec.Model, p.Defaults.Model))
		case s.Run != "":
			a.Tools = append(a.Tools, shell)
		case s.Tool != "":
			a.Tools = append(a.Tools, s.Tool)
		}
	}, func(found *Agent) {
		names = append(names, found.Name)
		all = append(all, *found.Spec)
		if sp := found.Spec.Spawn; sp != nil {
			depth = max(depth, sp.Depth, turn.SpawnDepth)
		}
	})
	slices.Sort(a.Tools)
	a.Tools = slices.Compact(a.Tools)
	slices.Sort(names)
	repairs := p.repairs()
	if names = slices.Compact(names); len(names) > 0 || repairs {
		a.Spawn = &agents.Spawn{Agents: names, Depth: depth + 1, FanOut: turn.SpawnFanOut, Total: maxMaxSteps}
	}
	if repairs {
		open = true
		a.Spawn.Agents, a.Spawn.Problems = append(a.Spawn.Agents, coordinator.Analyst), []string{"*"}
		a.Spawn.Agents = append(a.Spawn.Agents, p.supervisors()...)
		if !slices.Contains(a.Tools, coordinator.ReplayTool) {
			a.Tools = append(a.Tools, coordinator.ReplayTool) // so that they remember
		}
	}
	if open {
		a.Model = ""
	}
	return a, all
}

// repairs reports whether a coordinator is the policy of a step.
func (p *Pipeline) repairs() (found bool) {
	p.walk(func(s *Step) {
		found = found || s.OnFailure == string(policyCoordinate) || s.OnFailure == "" && p.OnFailure == policyCoordinate && s.commands()
		if s.Pipeline != nil && s.Pipeline.Spec != nil {
			found = found || s.Pipeline.Spec.repairs()
		}
	}, func(*Agent) {})
	return found
}

// supervisors are the agents that review what coordinators of the pipeline decide.
func (p *Pipeline) supervisors() (out []string) {
	add := func(c *coordinator.Bounds) {
		if c != nil && c.Supervise != "" && !slices.Contains(out, c.Supervise) {
			out = append(out, c.Supervise)
		}
	}
	add(p.Coordinate)
	p.walk(func(s *Step) {
		add(s.Coordinate)
		if s.Pipeline != nil && s.Pipeline.Spec != nil {
			add(s.Pipeline.Spec.Coordinate)
		}
	}, func(*Agent) {})
	return out
}

// NoModel stands for the model of a pipeline in which no step asks one.
const NoModel = "none"

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

// Models lists the models that a pinned pipeline names itself, sorted.
func (p *Pipeline) Models() []string {
	var out []string
	_ = p.EachModel(func(ref *string) error {
		out = append(out, *ref)
		return nil
	})
	slices.Sort(out)
	return slices.Compact(out)
}

// EachModel calls f for every name of a model in a pinned pipeline, which f may
// replace; "" leaves the choice to the request.
func (p *Pipeline) EachModel(f func(ref *string) error) error {
	var err error
	call := func(ref *string) {
		if *ref != "" && err == nil {
			err = f(ref)
		}
	}
	call(&p.Defaults.Model)
	if p.Recovery != nil {
		call(&p.Recovery.Model)
	}
	p.walk(func(s *Step) {
		call(&s.Model)
		if s.Pipeline != nil && s.Pipeline.Spec != nil {
			call(&s.Pipeline.Spec.Defaults.Model)
			if r := s.Pipeline.Spec.Recovery; r != nil {
				call(&r.Model)
			}
		}
	}, func(a *Agent) { call(&a.Spec.Model) })
	return err
}

// Prompted reports whether the pipeline reads {{input}}.
func (p *Pipeline) Prompted() bool {
	l := &linter{report: report{src: p.Source}, p: p, ids: map[string]string{}, needs: map[string][]string{}}
	found := false
	l.each(p.Steps, "steps", func(key string, s *Step) {
		for _, r := range l.reads(key, s) {
			found = found || r.path[0] == "input"
		}
	})
	return found
}
