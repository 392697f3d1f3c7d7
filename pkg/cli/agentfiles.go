package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/adroit-run/adroit/configs"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
)

// projectAgents is where a workspace keeps its own agents. They are used only
// where the operator trusts the workspace: an agent decides what runs.
const projectAgents = ".adroit/agents"

// catalog loads the agents: those built in, the user's, and, if dir is not
// empty, the project's.
func (a *app) catalog(dir string) (*agents.Catalog, agents.Problems) {
	layers := []agents.Layer{{Name: "built in", FS: configs.Agents(), Dir: "configs/agents"}}
	if h := a.Getenv("HOME"); h != "" {
		layers = append(layers, layer("user", filepath.Join(h, ".claude", "agents"), true))
	}
	if d := a.configDir(); d != "" {
		layers = append(layers, layer("user", filepath.Join(d, "agents"), false))
	}
	if dir != "" {
		layers = append(layers, layer("project", filepath.Join(dir, filepath.FromSlash(projectAgents)), false))
	}
	return agents.Load(layers...)
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
			hint = "this directory has an agent of that name; --trust-project uses it, after you have read it"
		}
		return nil, usage(hint, "unknown agent %q", name)
	case errors.As(err, &bad):
		return nil, usage("adroit agents lint checks all of them", "agent %s cannot be used:\n%s", name, bad)
	}
	if now, renamed := cat.Renamed(name); renamed && err == nil {
		fmt.Fprintf(a.Stderr, "adroit: note: the agent %s is called %s now\n", line(name), line(now))
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
	conf, err := a.config()
	if err != nil {
		return t, s, err
	}
	set, err := a.tools()
	if err != nil {
		return t, s, err
	}
	if s, err = a.surround(ctx, in.Dir, trusting(trust)); err != nil {
		return t, s, err
	}
	dir := ""
	if trust {
		dir = in.Dir
	}
	cat, _ := a.catalog(dir) // what is wrong with the one that is used, Lookup tells
	t, err = agents.Resolve(in, cat, set, agents.Defaults{
		Skills: s.skills, Project: s.project,
		Model: conf.Model, Approve: conf.Approve, Prices: conf.Prices,
		Limits: executor.Limits{Turns: conf.Limits.Turns, Tokens: conf.Limits.Tokens, CostUSD: conf.Limits.CostUSD, Time: conf.Limits.Time},
	})
	return t, s, err
}
