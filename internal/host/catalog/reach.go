package catalog

import (
	"path"
	"slices"

	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workflows/pipeline"
)

// reach is what the tools of an agent need, all in all.
func (c *Catalog) reach(ag *agents.DynamicAgent) tools.Caps {
	matches := func(patterns []string, name string) bool {
		return slices.ContainsFunc(patterns, func(p string) bool { ok, _ := path.Match(p, name); return ok })
	}
	var caps tools.Caps
	for t := range c.tools().All() {
		if matches(ag.Tools, t.Name) && !matches(ag.Deny, t.Name) {
			caps |= t.Needs
		}
	}
	if len(ag.MCPServers) > 0 || Named(ag) {
		caps |= tools.Net | tools.Publish // whatever their tools do
	}
	if ag.Grant != nil {
		caps &= *ag.Grant
	}
	return caps
}

// maxNesting bounds pipelines that call pipelines.
const maxNesting = 5

// pipelineReach is what the steps of a pipeline need, all in all.
func (c *Catalog) pipelineReach(p *pipeline.Pipeline, cat *agents.Catalog, all *pipeline.Catalog, depth int) tools.Caps {
	if depth > maxNesting {
		return 0
	}
	var caps tools.Caps
	agent := func(g *pipeline.Agent) {
		if g == nil {
			return
		}
		spec := g.Spec
		if spec == nil {
			var err error
			if spec, err = cat.Lookup(g.Name); err != nil {
				return
			}
		}
		caps |= c.reach(spec)
	}
	if p.Recovery != nil {
		agent(&p.Recovery.Agent)
	}
	var each func([]pipeline.Step)
	each = func(steps []pipeline.Step) {
		for i := range steps {
			s := &steps[i]
			agent(s.Agent)
			name := s.Tool
			if s.Run != "" {
				name = "shell"
			}
			if t, ok := c.tools().Lookup(name); ok {
				caps |= t.Needs
			}
			if s.Pipeline != nil {
				if inner, err := all.Lookup(s.Pipeline.Name); err == nil {
					caps |= c.pipelineReach(inner, cat, all, depth+1)
				}
			}
			each(s.Parallel)
		}
	}
	each(p.Steps)
	return caps
}
