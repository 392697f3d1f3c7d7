package adroit

import (
	"context"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/pipeline"
)

// resolve binds a request to its agent or pipeline, its tools and its model.
func (rt *Runtime) resolve(ctx context.Context, in agents.Input) (executor.Task, error) {
	return rt.resolveJob(ctx, in, JobConfig{}, rt.models)
}

// resolveJob is resolve for a job.
func (rt *Runtime) resolveJob(ctx context.Context, in agents.Input, c JobConfig, m ModelSource) (executor.Task, error) {
	if rt.o.Resolve != nil {
		return rt.o.Resolve(ctx, in, c, m)
	}
	if in.Pipeline != "" {
		p, err := rt.pin(ctx, in, c, m)
		return p.Task, err
	}
	return agents.Resolve(in, rt.cat, rt.tools, rt.o.Defaults)
}

// pin resolves a pipeline with all that it names by value, and the task that its
// steps are run with.
func (rt *Runtime) pin(ctx context.Context, in agents.Input, c JobConfig, m ModelSource) (pin pipeline.Pinned, err error) {
	if rt.o.Pin != nil {
		return rt.o.Pin(ctx, in, c, m)
	}
	found, err := rt.pipelines.Lookup(in.Pipeline)
	if err != nil {
		return pin, err
	}
	lesser := func(ref string) bool { return slices.Contains([]string{"default", "cheap", "strong"}, ref) }
	p, err := pipeline.Pin(found, pipeline.Known{Tools: rt.tools, Agents: rt.cat, Pipelines: rt.pipelines, Model: func(ref string) error {
		if lesser(ref) {
			return nil
		}
		_, _, err := m.Open(ref)
		return err
	}})
	if err != nil {
		return pin, err
	}
	if err := p.EachModel(func(ref *string) error {
		if lesser(*ref) {
			*ref = ""
		}
		return nil
	}); err != nil {
		return pin, err
	}
	var carried []agents.DynamicAgent
	in.Spec, carried = p.Carrier()
	in.Agent, in.Pipeline = "", ""
	if strings.TrimSpace(in.Prompt) == "" {
		in.Prompt = "Begin." // no model reads it
	}
	t, err := agents.Resolve(in, rt.cat.With(carried...), rt.tools, rt.o.Defaults)
	return pipeline.Pinned{Pipeline: p, Task: t, Models: p.Models()}, err
}
