package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/configs"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/cli/exit"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/pipeline"
	"github.com/adroit-run/adroit/pkg/tools"
)

// projectPipelines is where a workspace keeps its own pipelines. Like agents,
// they are used only where the operator trusts them.
const projectPipelines = ".adroit/pipelines"

// pipelines loads the pipelines: those built in, the user's, and of the
// project's what v has. One of a project may take the place of another, but
// not do more than that one may.
func (a *app) pipelines(v vouch) (*pipeline.Catalog, agents.Problems) {
	layers := []pipeline.Layer{{Name: "built in", FS: configs.Pipelines(), Dir: "configs/pipelines"}}
	if d := a.configDir(); d != "" {
		dir := filepath.Join(d, "pipelines")
		layers = append(layers, pipeline.Layer{Name: "user", FS: os.DirFS(dir), Dir: dir})
	}
	own, ok := v.pipelines()
	if !ok {
		return pipeline.Load(layers...)
	}
	cat, problems := pipeline.Load(append(slices.Clone(layers), own)...)
	base, _ := pipeline.Load(layers...)
	var wide []string
	for _, p := range cat.List() {
		under, err := base.Lookup(p.Name)
		if p.Source.Layer != own.Name || err != nil {
			continue
		}
		agentsThere, _ := a.catalogOf(v)
		if more := a.pipelineReach(p, agentsThere, cat, 0) &^ a.pipelineReach(under, agentsThere, base, 0); more != 0 {
			wide = append(wide, path.Base(p.Source.File))
			a.note("%s is not used: the pipeline %s would get more than it has (%s); give it a name of its own", p.Source.File, p.Name, more)
		}
	}
	if len(wide) == 0 {
		return cat, problems
	}
	own.FS = without{own.FS, wide}
	return pipeline.Load(append(layers, own)...)
}

// pipelines are the project's that have a say.
func (v vouch) pipelines() (pipeline.Layer, bool) {
	dir := filepath.Join(v.dir, filepath.FromSlash(projectPipelines))
	if v.all {
		return pipeline.Layer{Name: "project", FS: os.DirFS(dir), Dir: dir}, v.dir != ""
	}
	if len(v.status.Files) == 0 {
		return pipeline.Layer{}, false
	}
	sub, err := fs.Sub(v.status.FS(), projectPipelines)
	return pipeline.Layer{Name: "project", FS: sub, Dir: dir}, err == nil
}

// pipelineReach is what the steps of a pipeline need, all in all.
func (a *app) pipelineReach(p *pipeline.Pipeline, cat *agents.Catalog, all *pipeline.Catalog, depth int) tools.Caps {
	set, err := a.tools()
	if err != nil || depth > 5 {
		return 0
	}
	var caps tools.Caps
	agent := func(g *pipeline.Agent) {
		if g == nil {
			return
		}
		spec := g.Spec
		if spec == nil {
			if spec, err = cat.Lookup(g.Name); err != nil {
				return
			}
		}
		caps |= a.reach(spec)
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
			if t, ok := set.Lookup(name); ok {
				caps |= t.Needs
			}
			if s.Pipeline != nil {
				if inner, err := all.Lookup(s.Pipeline.Name); err == nil {
					caps |= a.pipelineReach(inner, cat, all, depth+1)
				}
			}
			each(s.Parallel)
		}
	}
	each(p.Steps)
	return caps
}

// known is what a pipeline may name here.
func (a *app) known(v vouch, m *models) (pipeline.Known, error) {
	set, err := a.tools()
	if err != nil {
		return pipeline.Known{}, err
	}
	cat, _ := a.catalogOf(v)
	all, _ := a.pipelines(v)
	return pipeline.Known{Tools: set, Agents: cat, Pipelines: all, Model: m.check}, nil
}

// A hintedError is a fault as other packages may read it.
type hintedError struct{ fault *exit.Error }

func (e *hintedError) Error() string { return e.fault.Err.Error() }
func (e *hintedError) Hint() string  { return e.fault.Hint }

// check says what is wrong with the name of a model, nil if nothing is.
func (m *models) check(ref string) error {
	if m.lesser(ref) {
		return nil
	}
	var err error
	if strings.HasPrefix(m.conf.stands(ref), scriptProvider+":") {
		_, _, err = m.Open(ref)
	} else {
		_, _, err = m.split(ref)
	}
	if f := new(exit.Error); errors.As(err, &f) {
		return &hintedError{f}
	}
	return err
}

// lesser reports whether ref is one of the roles that shipped pipelines name
// and nobody has configured here: the model of the request does their work.
func (m *models) lesser(ref string) bool {
	_, there := m.conf.Models[ref]
	return !there && slices.Contains([]string{roleDefault, roleCheap, roleStrong}, ref)
}

// roleStrong is for what matters most: plans, judgements.
const roleStrong = "strong"

// pin gives a pipeline with all that it names by value, and the task that its
// steps are run with: the first step of its job, and what the command line
// checks before there is one.
func (a *app) pin(ctx context.Context, in agents.Input, trust bool, m *models) (pin pipeline.Pinned, s surroundings, err error) {
	v, err := a.vouchFor(in.Dir, trust)
	if err != nil {
		return pin, s, err
	}
	k, err := a.known(v, m)
	if err != nil {
		return pin, s, err
	}
	found, err := k.Pipelines.Lookup(in.Pipeline)
	if err != nil {
		return pin, s, err
	}
	p, err := pipeline.Pin(found, k)
	if err != nil {
		return pin, s, err
	}
	if err := p.EachModel(func(ref *string) (err error) {
		if m.lesser(*ref) {
			*ref = ""
			return nil
		}
		*ref, err = m.canonical(*ref)
		return err
	}); err != nil {
		return pin, s, err
	}
	req, carried := in, []agents.DynamicAgent(nil)
	req.Spec, carried = p.Carrier()
	req.Agent, req.Pipeline = "", ""
	if strings.TrimSpace(req.Prompt) == "" {
		req.Prompt = "Begin." // no model reads it
	}
	t, s, err := a.resolveWith(ctx, req, trust, m, carried...)
	if err != nil {
		return pin, s, err
	}
	named := append(p.Models(), m.roles()...)
	slices.Sort(named)
	return pipeline.Pinned{Pipeline: p, Task: t, Models: slices.Compact(named)}, s, nil
}

// unmodelled is a route where no model is asked.
func unmodelled(string) (executor.Route, error) { return executor.Route{Model: pipeline.NoModel}, nil }
