package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/adroit-run/adroit/configs"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/cli/exit"
	"github.com/adroit-run/adroit/pkg/cli/render"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/pipeline"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/tools/edit"
)

// projectAgents is where a workspace keeps its own agents. They are used only
// where the operator trusts the workspace: an agent decides what runs.
const projectAgents = ".adroit/agents"

// catalog loads the agents: those built in, the user's, and, if dir is not
// empty, the project's.
func (a *app) catalog(dir string) (*agents.Catalog, agents.Problems) {
	return a.catalogOf(vouch{all: dir != "", dir: dir})
}

// catalogHere is catalog with what is trusted of the current directory, or all
// of it.
func (a *app) catalogHere(all bool) (*agents.Catalog, agents.Problems) {
	v, err := a.vouchFor(".", all)
	if err != nil {
		a.note("%v", err)
	}
	return a.catalogOf(v)
}

// catalogOf loads the agents with those of the project that v has. One of these
// may take the place of another agent, but not have more tools than that: who
// asks for a reviewer gets nothing that can do more than one.
func (a *app) catalogOf(v vouch) (*agents.Catalog, agents.Problems) {
	layers := []agents.Layer{{Name: "built in", FS: configs.Agents(), Dir: "configs/agents"}}
	if h := a.Getenv("HOME"); h != "" {
		layers = append(layers, layer("user", filepath.Join(h, ".claude", "agents"), true))
	}
	if d := a.configDir(); d != "" {
		layers = append(layers, layer("user", filepath.Join(d, "agents"), false))
	}
	own, ok := v.agents()
	if !ok {
		return agents.Load(layers...)
	}
	cat, problems := agents.Load(append(slices.Clone(layers), own)...)
	base, _ := agents.Load(layers...)
	var wide []string
	for _, ag := range cat.List() {
		under, err := base.Lookup(ag.Name)
		if ag.Source.Layer != own.Name || err != nil {
			continue
		}
		if more := a.reach(ag) &^ a.reach(under); more != 0 {
			wide = append(wide, path.Base(ag.Source.File))
			a.note("%s is not used: the agent %s would get more than it has (%s); give it a name of its own", ag.Source.File, ag.Name, more)
		}
	}
	if len(wide) == 0 {
		return cat, problems
	}
	own.FS = without{own.FS, wide}
	return agents.Load(append(layers, own)...)
}

// reach is what the tools of an agent need, all in all.
func (a *app) reach(ag *agents.DynamicAgent) tools.Caps {
	set, err := a.tools()
	if err != nil {
		return 0
	}
	matches := func(patterns []string, name string) bool {
		return slices.ContainsFunc(patterns, func(p string) bool { ok, _ := path.Match(p, name); return ok })
	}
	var caps tools.Caps
	for t := range set.All() {
		if matches(ag.Tools, t.Name) && !matches(ag.Deny, t.Name) {
			caps |= t.Needs
		}
	}
	if ag.Grant != nil {
		caps &= *ag.Grant
	}
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

func layer(name, dir string, claude bool) agents.Layer {
	return agents.Layer{Name: name, FS: os.DirFS(dir), Dir: dir, Claude: claude}
}

// agent finds an agent by name, with a hint for what else could be meant.
func (a *app) agent(cat *agents.Catalog, name, dir string) (*agents.DynamicAgent, error) {
	agent, err := cat.Lookup(name)
	var unknown *agents.UnknownError
	var bad *agents.ProblemError
	switch {
	case errors.As(err, &unknown):
		hint := "adroit agents list lists the agents"
		if unknown.Near != "" {
			hint = "did you mean " + unknown.Near + "?\n" + hint
		}
		if _, ours := fs.Stat(os.DirFS(dir), projectAgents+"/"+name+".md"); ours == nil && fs.ValidPath(name) {
			hint = "this directory has an agent of that name: adroit trust shows and trusts what is there; --trust-project uses it this once"
		}
		return nil, exit.Usagef(hint, "unknown agent %q", name)
	case errors.As(err, &bad):
		return nil, exit.Usagef("adroit agents lint checks all of them", "agent %s cannot be used:\n%s", name, bad)
	}
	if now, renamed := cat.Renamed(name); renamed && err == nil {
		fmt.Fprintf(a.Stderr, "adroit: note: the agent %s is called %s now\n", render.SanitizeLine(name), render.SanitizeLine(now))
	}
	return agent, err
}

// resolve binds a request to its agent, tools and model, as the first step of
// a job does and as the command line does before it submits one.
func (a *app) resolve(ctx context.Context, in agents.Input, trust bool) (executor.Task, error) {
	t, _, err := a.resolveIn(ctx, in, trust)
	return t, err
}

// resolveIn is resolve with what was found around the job.
func (a *app) resolveIn(ctx context.Context, in agents.Input, trust bool) (t executor.Task, s surroundings, err error) {
	m, err := a.models("")
	if err != nil {
		return t, s, err
	}
	return a.resolveWith(ctx, in, trust, m)
}

// resolveWith is resolveIn for a job that has its models already. more are
// agents beside those of files.
func (a *app) resolveWith(ctx context.Context, in agents.Input, trust bool, m *models, more ...agents.DynamicAgent) (t executor.Task, s surroundings, err error) {
	if in.Pipeline != "" {
		pin, s, err := a.pin(ctx, in, trust, m)
		return pin.Task, s, err
	}
	conf, err := a.config()
	if err != nil {
		return t, s, err
	}
	set, err := a.tools()
	if err != nil {
		return t, s, err
	}
	dir := in.Dir
	if in.Parent != nil && in.Parent.At != "" {
		dir = in.Parent.Home // the worktree is a copy of it
	}
	v, err := a.vouchFor(dir, trust)
	if err != nil {
		return t, s, err
	}
	if s, err = a.surround(ctx, dir, v); err != nil {
		return t, s, err
	}
	budget := conf.budget()
	route, think, instead := m.lookup(ctx), m.thinks(), edit.Instead(conf.EditFormats)
	if in.Parent != nil {
		route = m.windowed(ctx, route)
	}
	if in.Model == pipeline.NoModel {
		route = unmodelled
	}
	if played, err := m.Recording(in.Model); err != nil {
		return t, s, err
	} else if played != nil {
		// All that follows from the model is as it was.
		route, think = func(string) (executor.Route, error) { return m.route(ctx, in.Model) }, ""
		budget.Model = played.Model
		instead = func(string) map[string][]string { return edit.Instead(conf.EditFormats)(played.Model) }
	}
	cat, _ := a.catalogOf(v) // what is wrong with the one that is used, Lookup tells
	cat = cat.With(more...)
	given, err := a.given(in, cat, v)
	if err != nil {
		return t, s, err
	}
	test := ""
	if in.Parent == nil && in.Test == "" { // else it is settled
		if test, _, err = a.testCommand(dir, v); err != nil {
			return t, s, err
		}
	}
	t, err = agents.Resolve(in, cat, set, agents.Defaults{
		Given: given, Test: test, Missing: adroit.Missing,
		Skills: s.skills, Project: s.project, Instead: instead, Budget: budget,
		Route: route, Lesser: m.lesser, Think: think,
		Model: conf.Model, Approve: conf.Approve, Mode: conf.Mode, Rules: conf.Permissions, Prices: conf.Prices,
		Limits: executor.Limits{Turns: conf.Limits.Turns, Tokens: conf.Limits.Tokens, CostUSD: conf.Limits.CostUSD, Time: conf.Limits.Time},
	})
	return t, s, err
}
