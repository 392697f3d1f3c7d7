package adroit

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/host/catalog"
	"github.com/adroit-run/adroit/internal/system/exhaustion"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/internal/work/sandbox"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/workflows/pipeline"
	"github.com/adroit-run/adroit/pkg/workspace"
)

// A projectContext is the contents of a job's workspace besides its agent.
type projectContext struct {
	catalog.Context
	servers map[string]turn.Tool // the tools that its servers have, by name
}

// resolve binds a request to its agent or pipeline, tools and model, as the
// first step of a job does and as is done before there is one. more are agents
// beside those of files.
func (rt *Runtime) resolve(ctx context.Context, in agents.Input, c JobConfig, m ModelSource, more ...agents.DynamicAgent) (t executor.Task, p projectContext, err error) {
	if in.Pipeline != "" {
		pin, p, err := rt.pin(ctx, in, c, m)
		return pin.Task, p, err
	}
	dir := in.Dir
	if in.Parent != nil && in.Parent.At != "" {
		dir = in.Parent.Home // the worktree is a copy of it
	}
	d, err := rt.trusts(dir, c.Trust)
	if err != nil {
		return t, p, err
	}
	var files *workspace.Files
	defer func() {
		if files != nil {
			files.Close()
		}
	}()
	if !d.Ignores() {
		if files, err = d.Open(); err != nil {
			return t, p, err
		}
	}
	if p.Context, err = d.Context(ctx, files, rt.o.Skills, rt.o.ProjectBytes); err != nil {
		return t, p, err
	}
	env, err := rt.env(ctx, in, dir, c, m)
	if err != nil {
		return t, p, err
	}
	cat := rt.catalog.Agents(d) // Lookup returns what is wrong with the agent used
	cat = cat.With(more...)
	if env.Given, err = d.Given(in, cat); err != nil {
		return t, p, err
	}
	if in.Parent == nil && in.Test == "" { // else it is settled
		env.Test, _ = d.TestCommand(rt.o.TestCommands, rt.warn)
	}
	env.Skills, env.Missing, env.Recall = p.Skills, catalog.Missing, rt.memory.ForPrompt(ctx, dir)
	if !d.Ignores() {
		env.Project = p.Project
	}
	env.Around = func(tests bool, command string) string {
		if files == nil {
			files, _ = d.Open() // no error: what is ignored need not be there
		}
		return catalog.Describe(ctx, files, tests, command, rt.o.Names)
	}
	var short error // the host had too little to find out; the submitter waits
	env.Confined = func() bool {
		r := sandbox.Choose(cmp.Or(rt.o.Sandbox.Level, sandbox.Auto))
		if err := r.Err(); exhaustion.Of(err) != "" {
			short = err
		}
		return r.Err() == nil && r.Level != sandbox.Off
	}
	set, err := rt.tools()
	if err != nil {
		return t, p, err
	}
	reach := func(*executor.Task) error { return nil }
	if rt.o.ToolServers != nil {
		scope, err := rt.jobServers(dir, c)
		if err != nil {
			return t, p, err
		}
		scope.Plan = cmp.Or(in.Mode, rt.o.Defaults.Mode) == executor.ModePlan
		with, err := rt.toolServers().Offer(ctx, in, cat, scope, set)
		if err != nil {
			return t, p, err
		}
		in, set, p.servers = with.In, with.Tools, with.All
		reach = with.Give
	}
	if t, err = agents.Resolve(in, cat, set, env); err == nil {
		t.Problems, err = rt.catalog.PinnedBook(in, cat, d)
	}
	return t, p, errors.Join(err, short, reach(&t))
}

// env returns the options' environment with what the source of models knows, and what was
// kept for the project in dir.
func (rt *Runtime) env(ctx context.Context, in agents.Input, dir string, c JobConfig, m ModelSource) (agents.Env, error) {
	env := agents.Env{Defaults: rt.o.Defaults, Lesser: m.Unset}
	if rt.trust != nil && dir != "" {
		kept, err := rt.trust.Rules(dir, rt.o.Sandbox.NetOpen)
		if err != nil {
			return env, err
		}
		if len(kept) > 0 && rt.fence(ctx, c).Sandbox != string(sandbox.Off) { // where they were given
			env.Rules = append(slices.Clip(env.Rules), kept...)
		}
	}
	env.Window = func(ref string) (tokens, most int) { return m.Stated(ctx, ref) }
	route := func(ref string) (executor.Route, error) { return m.Route(ctx, ref) }
	if in.Parent != nil {
		route = windowed(ctx, m)
	}
	if in.Model == pipeline.NoModel {
		route = func(string) (executor.Route, error) { return executor.Route{Model: pipeline.NoModel}, nil }
	}
	think := m.Think()
	if played, err := m.Recording(in.Model); err != nil {
		return env, err
	} else if played != nil {
		// All that follows from the model is as it was.
		route, think = func(string) (executor.Route, error) { return m.Route(ctx, in.Model) }, ""
		env.Budget.Model = played.Model
		instead := env.Substitutes
		env.Substitutes = func(string) map[string][]string { return instead(played.Model) }
	}
	env.Route = route
	env.Think = cmp.Or(env.Think, think)
	return env, nil
}

// windowed is Route with the window of the model, where the server lets the
// client set it: nobody has found it out for a sub-agent's.
func windowed(ctx context.Context, m ModelSource) func(string) (executor.Route, error) {
	return func(ref string) (executor.Route, error) {
		r, err := m.Route(ctx, ref)
		if err != nil || r.Window > 0 {
			return r, err
		}
		if r.Window, err = m.Window(ctx, r.Model); err != nil && len(r.Fallbacks) == 0 {
			return r, err
		}
		return r, nil
	}
}

// pin returns a pipeline with all that it names by value, and the task that its
// steps are run with: the first step of its job, and what is checked before
// there is one.
func (rt *Runtime) pin(ctx context.Context, in agents.Input, c JobConfig, m ModelSource) (pin pipeline.Pinned, p projectContext, err error) {
	d, err := rt.trusts(in.Dir, c.Trust)
	if err != nil {
		return pin, p, err
	}
	k := rt.catalog.Known(d, m)
	found, err := k.Pipelines.Lookup(in.Pipeline)
	if err != nil {
		return pin, p, err
	}
	pinned, err := pipeline.Pin(found, k)
	if err != nil {
		return pin, p, err
	}
	if err := pinned.EachModel(func(ref *string) (err error) {
		if m.Unset(*ref) {
			*ref = ""
			return nil
		}
		*ref, err = m.Canonical(*ref)
		return err
	}); err != nil {
		return pin, p, err
	}
	req, carried := in, []agents.DynamicAgent(nil)
	req.Spec, carried = pinned.Carrier()
	req.Agent, req.Pipeline = "", ""
	if strings.TrimSpace(req.Prompt) == "" {
		req.Prompt = "Begin." // no model reads it
	}
	t, p, err := rt.resolve(ctx, req, c, m, carried...)
	if err != nil {
		return pin, p, err
	}
	named := append(pinned.Models(), m.Roles()...)
	slices.Sort(named)
	return pipeline.Pinned{Pipeline: pinned, Task: t, Models: slices.Compact(named)}, p, nil
}
