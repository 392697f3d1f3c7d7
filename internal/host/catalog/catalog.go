// Package catalog has the agents, the pipelines and what is known of problems of a
// program and its users, together with what a project brings, as far as its operator
// trusts it: skills, instructions, stages, the command that runs its tests, tool servers.
//
//	c := catalog.New(catalog.Options{Agents: layers, Tools: set, Warn: warn})
//	list := c.Agents(decision) // of Decide
//
// It also decides which tools of servers an agent gets: directly if they are few, else
// through describe_tool and call_tool. A job pins those that its tasks were given.
package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/adroit-run/adroit/configs"
	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/workflows/pipeline"
)

// New returns a catalog that reads nothing yet.
func New(o Options) *Catalog {
	o.Literals = slices.Clone(o.Literals)
	c := &Catalog{o: o}
	types := sync.OnceFunc(c.registerTypes)
	files := renewed(o.Agents, func(l ...agents.Layer) *agents.Catalog {
		types()
		return agents.Load(l...)
	})
	c.agents = func() *agents.Catalog { return c.withLiterals(files()) }
	c.pipelines = renewed(o.Pipelines, pipeline.Load)
	return c
}

// Check returns what is wrong with what the options have.
func (c *Catalog) Check() error {
	errs := []error{c.agents().Problems().Err(), c.pipelines().Problems().Err()}
	for _, a := range c.agents().List() {
		if _, err := json.Marshal(a.Done); err != nil { // what cannot be kept can never be judged
			errs = append(errs, fmt.Errorf("agent %s: done: %w", a.Name, errors.Unwrap(err)))
		}
	}
	return errors.Join(errs...)
}

// Agents loads the agents with those of the project that d trusts. One of
// these may take the place of another agent, but not have more tools than that:
// who asks for a reviewer gets nothing that can do more than one.
func (c *Catalog) Agents(d Decision) *agents.Catalog {
	c.Book(d) // for the types that agents may name
	layers, base := slices.Clip(c.o.Agents), c.agents()
	for _, name := range []string{configs.ClaudeAgents, configs.AgentsDir} {
		fsys, dir, ok := d.Layer(name)
		if !ok {
			return base
		}
		own := agents.Layer{Name: "project", FS: fsys, Dir: dir, Claude: name == configs.ClaudeAgents}
		var wide []string
		for _, ag := range agents.Load(own).List() {
			under, err := base.Lookup(ag.Name)
			if err != nil {
				continue
			}
			if more := c.reach(ag) &^ c.reach(under); more != 0 {
				wide = append(wide, strings.TrimPrefix(ag.Source.File, dir+"/"))
				c.o.Warn("%s is not used: the agent %s would get more than it has (%s); give it a name of its own", ag.Source.File, ag.Name, more)
			}
		}
		if len(wide) > 0 {
			own.FS = without{own.FS, wide}
		}
		layers = append(layers, own)
	}
	return c.withLiterals(agents.Load(layers...))
}

// withLiterals adds the agents that a program has built, over those of files.
func (c *Catalog) withLiterals(files *agents.Catalog) *agents.Catalog {
	if len(c.o.Literals) == 0 {
		return files
	}
	return files.With(c.o.Literals...)
}

// CheckLiterals returns what is wrong with the agents that a program has built.
func (c *Catalog) CheckLiterals() error {
	if len(c.o.Literals) == 0 {
		return nil
	}
	set, err := c.o.Tools()
	if err != nil {
		return err
	}
	var errs []error
	for i, a := range c.o.Literals {
		field := fmt.Sprintf("Literals[%d]", i)
		if err := agents.Lint(&a, set).Err(); err != nil {
			errs = append(errs, fmt.Errorf("%s, agent %q: %w", field, a.Name, err))
		}
		if slices.ContainsFunc(c.o.Literals[:i], func(b agents.DynamicAgent) bool { return b.Name == a.Name }) {
			errs = append(errs, fmt.Errorf("%s: there are two agents %q; rename one of them", field, a.Name))
		}
	}
	return errors.Join(errs...)
}

// Pipelines loads the pipelines with those of the project that d trusts.
// One of these may take the place of another, but not do more than that one may.
func (c *Catalog) Pipelines(d Decision) *pipeline.Catalog {
	layers := c.o.Pipelines
	fsys, dir, ok := d.Layer(configs.PipelinesDir)
	if !ok {
		return c.pipelines()
	}
	own := agents.Layer{Name: "project", FS: fsys, Dir: dir}
	cat := pipeline.Load(append(slices.Clip(layers), own)...)
	base := c.pipelines()
	var wide []string
	for _, p := range pipeline.Load(own).List() {
		under, err := base.Lookup(p.Name)
		if err != nil {
			continue
		}
		there := c.Agents(d)
		if more := c.pipelineReach(p, there, cat, 0) &^ c.pipelineReach(under, there, base, 0); more != 0 {
			wide = append(wide, path.Base(p.Source.File))
			c.o.Warn("%s is not used: the pipeline %s would get more than it has (%s); give it a name of its own", p.Source.File, p.Name, more)
		}
	}
	if len(wide) == 0 {
		return cat
	}
	own.FS = without{own.FS, wide}
	return pipeline.Load(append(slices.Clip(layers), own)...)
}

// Known is what a pipeline may name in a workspace.
func (c *Catalog) Known(d Decision, m Models) pipeline.Known {
	cat := c.Agents(d)
	all := c.Pipelines(d)
	return pipeline.Known{Tools: c.tools(), Agents: cat, Pipelines: all, Workflow: c.LintWorkflow, Model: func(ref string) error {
		if err := m.Check(ref); err != nil {
			return hinted{err}
		}
		return nil
	}}
}

// without is a directory that lacks some files.
type without struct {
	fs.FS
	names []string
}

func (w without) ReadDir(name string) ([]fs.DirEntry, error) {
	list, err := fs.ReadDir(w.FS, name)
	return slices.DeleteFunc(list, func(e fs.DirEntry) bool { return slices.Contains(w.names, path.Join(name, e.Name())) }), err
}

// hinted is an error with its hint as other packages read it.
type hinted struct{ error }

func (h hinted) Unwrap() error { return h.error }
func (h hinted) Hint() string  { return problem.Hint(h.error) }
