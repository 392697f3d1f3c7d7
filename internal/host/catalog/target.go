package catalog

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/adroit-run/adroit/configs"
	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/work/process"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/workflows/pipeline"
)

// Prefixes of Request.Target that mean an agent or a pipeline.
const (
	agentPrefix    = "agent:"
	pipelinePrefix = "pipeline:"
)

// Target finds the target of a request to a name: an agent, or the one that represents a pipeline
// if no agent has the name; in gets the name of either.
func (c *Catalog) Target(name string, d Decision, m Models, in *agents.Input) (*agents.DynamicAgent, error) {
	cat := c.Agents(d)
	all := c.Pipelines(d)
	switch {
	case name == "" && in.Pipeline != "":
		name = pipelinePrefix + in.Pipeline
	case name == "" && in.Spec != nil:
		return in.Spec, nil
	case name == "" && in.Agent == "":
		var err error
		if name, err = c.defaultAgent(in.Dir); err != nil {
			return nil, err
		}
		a, err := c.named(cat, strings.TrimPrefix(name, agentPrefix), in)
		if e := problem.AsError(err); c.o.Agent != "" && e != nil && e.Code == problem.UnknownAgent {
			e.Hint += "\nthe configuration names it; " + hint.Command("config set agent NAME") + " names another"
			return nil, e
		}
		return a, err
	case name == "":
		name = agentPrefix + in.Agent
	}
	if name, ok := strings.CutPrefix(name, agentPrefix); ok {
		return c.named(cat, name, in)
	}
	name, meant := strings.CutPrefix(name, pipelinePrefix)
	if !meant {
		_, err := cat.Lookup(name)
		isAgent := !errors.As(err, new(*agents.UnknownError))
		switch {
		case isAgent && all.Has(name):
			return nil, problem.Invalidf(fmt.Sprintf("say %s%s or %s%s", pipelinePrefix, name, agentPrefix, name), "there is an agent and a pipeline %q", name)
		case isAgent:
			return c.named(cat, name, in)
		case !all.Has(name):
			return nil, c.unknownTarget(cat, all, name, in.Dir)
		}
	}
	return c.pipelineTarget(all, name, d, m, in)
}

// defaultAgent returns the agent of a request that names none.
func (c *Catalog) defaultAgent(dir string) (string, error) {
	if c.o.Agent != "" {
		return agentPrefix + c.o.Agent, nil
	}
	if real, err := rootfs.Real(dir); err == nil {
		if _, ok := rootfs.Repository(real); ok {
			return agentPrefix + "assistant", nil
		}
	}
	return "", problem.Invalidf(cmp.Or(process.UnusedRepository(dir), hint.Command("chat")+" talks about this directory; "+hint.Command("run AGENT \"...\"")+" names one, and "+hint.Command("agents")+" lists them; agent: NAME in the configuration is the default everywhere"), "no agent is named, and %s is in no git repository, where it would be assistant", dir)
}

// pipelineTarget finds the agent that stands for a pipeline.
func (c *Catalog) pipelineTarget(all *pipeline.Catalog, name string, d Decision, m Models, in *agents.Input) (*agents.DynamicAgent, error) {
	p, err := FindPipeline(all, name)
	if err != nil {
		return nil, err
	}
	k := c.Known(d, m)
	for _, w := range pipeline.Lint(p, k) {
		if w.Severity == agents.Warning {
			c.o.Warn("%s", w)
		}
	}
	if p, err = pipeline.Pin(p, k); err != nil {
		return nil, problem.Invalidf(hint.Command("pipelines lint")+" checks all of them", "pipeline %s cannot be used:\n%s", name, err)
	}
	if err := p.EachModel(func(ref *string) error {
		if m.Unset(*ref) {
			*ref = ""
		}
		return nil
	}); err != nil {
		return nil, err
	}
	switch {
	case in.Limits.Turns > 0:
		return nil, problem.Invalidf("give its steps limits: {turns: N}, or bound all of them by --max-tokens, --max-cost or --timeout", "--max-turns is for agents, and %s is a pipeline", p.Name)
	case len(p.Inputs) == 0 && len(in.Inputs) > 0:
		return nil, problem.Invalidf("declare them under inputs: in its file", "the pipeline %s takes no inputs", p.Name)
	case p.Prompted() && strings.TrimSpace(in.Prompt) == "":
		return nil, problem.Invalidf(fmt.Sprintf("for example: %s", hint.Command("run %s \"add CSV export\"", name)), "the pipeline %s reads {{input}}, and there is no prompt", p.Name)
	}
	in.Agent, in.Pipeline = p.Name, p.Name
	agent, _ := p.Carrier()
	return agent, nil
}

// unknownTarget returns the error for a name that neither an agent nor a pipeline has.
func (c *Catalog) unknownTarget(cat *agents.Catalog, all *pipeline.Catalog, name, dir string) error {
	if Has(dir, configs.PipelinesDir+"/"+name+".yaml") {
		return problem.Invalidf(hint.Command("config trust")+" shows and trusts what is there; --trust-project uses it this once", "this directory has a pipeline %q, and nobody trusts it yet", name)
	}
	if n := spelling.Nearest(name, all.Names()); n != "" && spelling.Nearest(name, cat.Names()) == "" && !untrusted(dir, name) {
		return unknownAgent(name, "did you mean the pipeline "+n+"?\n"+hint.Command("agents list")+" and "+hint.Command("pipelines list")+" list what there is")
	}
	_, err := c.FindAgent(cat, name, dir)
	return err
}

// untrusted reports whether a directory has a file for an agent that is not known.
func untrusted(dir, name string) bool {
	return Has(dir, configs.AgentsDir+"/"+name+".md") || Has(dir, configs.ClaudeAgents+"/"+name+".md")
}

func (c *Catalog) named(cat *agents.Catalog, name string, in *agents.Input) (*agents.DynamicAgent, error) {
	agent, err := c.FindAgent(cat, name, in.Dir)
	if err == nil {
		in.Agent = agent.Name
	}
	return agent, err
}

// FindAgent finds an agent by name. The error has a hint with likely alternatives, also in the
// workspace dir.
func (c *Catalog) FindAgent(cat *agents.Catalog, name, dir string) (*agents.DynamicAgent, error) {
	agent, err := cat.Lookup(name)
	var unknown *agents.UnknownError
	var bad agents.Problems
	switch {
	case errors.As(err, &unknown):
		help := hint.Command("agents list") + " lists the agents"
		if unknown.Near != "" {
			help = "did you mean " + unknown.Near + "?\n" + help
		}
		if untrusted(dir, name) {
			help = "this directory has an agent of that name: " + hint.Command("config trust") + " shows and trusts what is there; --trust-project uses it this once"
		}
		return nil, unknownAgent(name, help)
	case errors.As(err, &bad):
		return nil, problem.Invalidf(hint.Command("agents lint")+" checks all of them", "agent %s cannot be used:\n%s", name, bad)
	}
	if now, renamed := cat.Renamed(name); renamed && err == nil {
		c.o.Warn("the agent %s is called %s now", name, now)
	}
	return agent, err
}

// FindPipeline finds a pipeline by name. The error has a hint with likely alternatives.
func FindPipeline(all *pipeline.Catalog, name string) (*pipeline.Pipeline, error) {
	p, err := all.Lookup(name)
	switch {
	case errors.As(err, new(*pipeline.UnknownError)):
		help := hint.Command("pipelines list") + " lists the pipelines"
		if n := spelling.Nearest(name, all.Names()); n != "" {
			help = "did you mean " + n + "?\n" + help
		}
		return nil, problem.Invalidf(help, "unknown pipeline %q", name)
	case err != nil:
		return nil, problem.Invalidf(hint.Command("pipelines lint")+" checks all of them", "pipeline %s cannot be used:\n%s", name, err)
	}
	return p, nil
}

func unknownAgent(name, help string) error {
	return &problem.Error{Kind: problem.Invalid, Code: problem.UnknownAgent, Message: fmt.Sprintf("unknown agent %q", name), Hint: help}
}
