package adroit

import (
	"io/fs"
	"path"
	"slices"

	"github.com/adroit-run/adroit/internal/apierr"
	"github.com/adroit-run/adroit/internal/pipeline"
	"github.com/adroit-run/adroit/internal/projectdir"
	"github.com/adroit-run/adroit/internal/toolserver/offer"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/tools"
)

// agentCatalog loads the agents with those of the project that d trusts. One of
// these may take the place of another agent, but not have more tools than that:
// who asks for a reviewer gets nothing that can do more than one.
func (rt *Runtime) agentCatalog(d trustDecision) (*agents.Catalog, agents.Problems) {
	rt.book(d) // for the types that agents may name
	layers := rt.o.Agents
	fsys, dir, ok := d.layer(projectdir.Agents)
	if !ok {
		return rt.agents()
	}
	own := agents.Layer{Name: "project", FS: fsys, Dir: dir}
	cat, problems := agents.Load(append(slices.Clip(layers), own)...)
	base, _ := rt.agents()
	var wide []string
	for _, ag := range cat.List() {
		under, err := base.Lookup(ag.Name)
		if ag.Source.Layer != own.Name || err != nil {
			continue
		}
		if more := rt.reach(ag) &^ rt.reach(under); more != 0 {
			wide = append(wide, path.Base(ag.Source.File))
			rt.warn("%s is not used: the agent %s would get more than it has (%s); give it a name of its own", ag.Source.File, ag.Name, more)
		}
	}
	if len(wide) == 0 {
		return cat, problems
	}
	own.FS = without{own.FS, wide}
	return agents.Load(append(slices.Clip(layers), own)...)
}

// pipelineCatalog loads the pipelines with those of the project that d trusts.
// One of these may take the place of another, but not do more than that one may.
func (rt *Runtime) pipelineCatalog(d trustDecision) (*pipeline.Catalog, agents.Problems) {
	layers := rt.o.Pipelines
	fsys, dir, ok := d.layer(projectdir.Pipelines)
	if !ok {
		return rt.pipelines()
	}
	own := agents.Layer{Name: "project", FS: fsys, Dir: dir}
	cat, problems := pipeline.Load(append(slices.Clip(layers), own)...)
	base, _ := rt.pipelines()
	var wide []string
	for _, p := range cat.List() {
		under, err := base.Lookup(p.Name)
		if p.Source.Layer != own.Name || err != nil {
			continue
		}
		there, _ := rt.agentCatalog(d)
		if more := rt.pipelineReach(p, there, cat, 0) &^ rt.pipelineReach(under, there, base, 0); more != 0 {
			wide = append(wide, path.Base(p.Source.File))
			rt.warn("%s is not used: the pipeline %s would get more than it has (%s); give it a name of its own", p.Source.File, p.Name, more)
		}
	}
	if len(wide) == 0 {
		return cat, problems
	}
	own.FS = without{own.FS, wide}
	return pipeline.Load(append(slices.Clip(layers), own)...)
}

// known is what a pipeline may name in a workspace.
func (rt *Runtime) known(d trustDecision, m ModelSource) pipeline.Known {
	cat, _ := rt.agentCatalog(d)
	all, _ := rt.pipelineCatalog(d)
	return pipeline.Known{Tools: rt.toolSet(), Agents: cat, Pipelines: all, Model: func(ref string) error {
		if err := m.Check(ref); err != nil {
			return hinted{err}
		}
		return nil
	}}
}

// reach is what the tools of an agent need, all in all.
func (rt *Runtime) reach(ag *agents.DynamicAgent) tools.Caps {
	matches := func(patterns []string, name string) bool {
		return slices.ContainsFunc(patterns, func(p string) bool { ok, _ := path.Match(p, name); return ok })
	}
	var caps tools.Caps
	for t := range rt.toolSet().All() {
		if matches(ag.Tools, t.Name) && !matches(ag.Deny, t.Name) {
			caps |= t.Needs
		}
	}
	if len(ag.MCPServers) > 0 || offer.Named(ag) {
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
func (rt *Runtime) pipelineReach(p *pipeline.Pipeline, cat *agents.Catalog, all *pipeline.Catalog, depth int) tools.Caps {
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
		caps |= rt.reach(spec)
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
			if t, ok := rt.toolSet().Lookup(name); ok {
				caps |= t.Needs
			}
			if s.Pipeline != nil {
				if inner, err := all.Lookup(s.Pipeline.Name); err == nil {
					caps |= rt.pipelineReach(inner, cat, all, depth+1)
				}
			}
			each(s.Parallel)
		}
	}
	each(p.Steps)
	return caps
}

// without is a directory that lacks some files.
type without struct {
	fs.FS
	names []string
}

func (w without) ReadDir(name string) ([]fs.DirEntry, error) {
	list, err := fs.ReadDir(w.FS, name)
	return slices.DeleteFunc(list, func(e fs.DirEntry) bool { return slices.Contains(w.names, e.Name()) }), err
}

// hinted is an error with its hint as other packages read it.
type hinted struct{ error }

func (h hinted) Unwrap() error { return h.error }
func (h hinted) Hint() string  { return apierr.Hint(h.error) }
