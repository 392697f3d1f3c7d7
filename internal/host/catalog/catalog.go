// Package catalog has the agents, the pipelines and the knowledge about problems of a program and
// its users, together with a project's own, as far as its operator trusts it: skills,
// instructions, stages, the command that runs its tests, tool servers.
//
//	c := catalog.New(catalog.Options{Agents: layers, Tools: set, Warn: warn})
//	list := c.Agents(decision) // of Decide
//
// It also decides which tools of servers an agent gets: directly if they are few, else through
// describe_tool and call_tool. A job pins those that its tasks were given.
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
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workflows/coordinator"
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

// Check reports errors in the options.
func (c *Catalog) Check() error {
	errs := []error{c.agents().Problems().Err(), c.pipelines().Problems().Err()}
	for _, a := range c.agents().List() {
		if _, err := json.Marshal(a.Done); err != nil { // what cannot be kept can never be judged
			errs = append(errs, fmt.Errorf("agent %s: done: %w", a.Name, errors.Unwrap(err)))
		}
	}
	return errors.Join(errs...)
}

// Agents loads the agents, including those of the project that d trusts. One of these may replace
// another agent, but not with more tools: whoever asks for a reviewer gets nothing that can do
// more than one.
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

// withLiterals adds the agents that a program has built, which take precedence over those of
// files.
func (c *Catalog) withLiterals(files *agents.Catalog) *agents.Catalog {
	if len(c.o.Literals) == 0 {
		return files
	}
	return files.With(c.o.Literals...)
}

// CheckLiterals reports errors in the agents that a program has built.
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

// Pipelines loads the pipelines, including those of the project that d trusts. One of these may
// replace another, but not do more than that one may.
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

// Known returns the names that a pipeline in a workspace may use.
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

// Options configure a Catalog.
type Options struct {
	Agents    []agents.Layer
	Literals  []agents.DynamicAgent // of a program, over those of Agents
	Pipelines []agents.Layer
	Problems  []agents.Layer
	Detectors []coordinator.Detector // of a program; those that are not valid are not used
	Workflows []flow.Workflow        // beside those of agents and of pipelines
	Agent     string                 // of requests that name none; empty: builder in a git repository
	// Tools returns the tools of the program.
	Tools func() (*tools.Set, error)
	Warn  func(format string, args ...any)
}

// Models checks references to models.
type Models interface {
	Check(ref string) error
	Unset(ref string) bool
}

// A Catalog has the agents, pipelines and workflows that requests name. It is safe for concurrent
// use.
type Catalog struct {
	o Options
	// What the options have, without any project's; read when it is needed.
	agents    func() *agents.Catalog
	pipelines func() *pipeline.Catalog
}

// tools returns the tools of the program; the set is nil, which is empty, if they are not valid:
// whatever runs one reports that.
func (c *Catalog) tools() *tools.Set {
	set, _ := c.o.Tools()
	return set
}

// Detectors returns the valid detectors of the options.
func (c *Catalog) Detectors() (out []coordinator.Detector) {
	for _, d := range c.o.Detectors {
		one, err := coordinator.NewDetector(d)
		if err != nil {
			c.o.Warn("the detector %q is not used: %v", d.Name, err)
			continue
		}
		out = append(out, one)
	}
	return out
}

// registerTypes makes the types of problems known that agents may name.
func (c *Catalog) registerTypes() {
	b, _ := coordinator.Load(c.o.Problems...)
	problem.Register(b.Types...)
	for _, d := range c.o.Detectors {
		if t, ok := problem.Canonical(d.Type); !ok {
			problem.Register(t)
		}
	}
}

// Book returns the additions to coordinators of users and of the project that d trusts.
func (c *Catalog) Book(d Decision) (*coordinator.Book, agents.Problems) {
	layers := slices.Clip(c.o.Problems)
	if fsys, dir, ok := d.Layer(configs.Problems); ok {
		layers = append(layers, agents.Layer{Name: "project", FS: fsys, Dir: dir})
	}
	b, problems := coordinator.Load(layers...)
	for _, one := range c.Detectors() {
		if t, ok := problem.Canonical(one.Type, b.Types...); !ok {
			b.Types = append(b.Types, t)
		}
		b.Coded = append(b.Coded, one)
	}
	problem.Register(b.Types...)
	return b, problems
}

// PinnedBook encodes the part of the book that a job led by a workflow needs, to be stored with
// the job.
func (c *Catalog) PinnedBook(in agents.Input, cat *agents.Catalog, d Decision) (json.RawMessage, error) {
	spec := in.Spec
	if spec == nil {
		var err error
		if spec, err = cat.Lookup(in.Agent); err != nil {
			return nil, nil // a failure that Resolve has reported
		}
	}
	if spec.Workflow == "" {
		return nil, nil
	}
	b, problems := c.Book(d)
	for _, p := range problems {
		c.o.Warn("%s", p)
	}
	if b.Empty() {
		return nil, nil
	}
	raw, err := json.Marshal(b)
	if err != nil {
		return nil, fmt.Errorf("what was added to coordinators: %w", err)
	}
	return raw, nil
}

// reach returns the capabilities that the tools of an agent need together.
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

// pipelineReach returns the capabilities that the steps of a pipeline need together.
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

// renewed returns a function that loads layers of files, and loads them again when one of the
// files has changed: a server outlives its users' edits.
func renewed[T any](layers []agents.Layer, load func(...agents.Layer) T) func() T {
	var mu sync.Mutex
	var value T
	var loaded string
	return func() T {
		mu.Lock()
		defer mu.Unlock()
		var now strings.Builder
		for i, l := range layers {
			fmt.Fprintf(&now, "layer %d\n", i)
			if l.FS != nil {
				stamp(&now, l.FS)
			}
		}
		if now.String() != loaded {
			value = load(layers...)
			loaded = now.String()
		}
		return value
	}
}

// stamp writes the data that shows that a file has changed. An unreadable file has none, and
// loading reports it.
func stamp(w *strings.Builder, files fs.FS) {
	_ = fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if info, err := d.Info(); err == nil && !d.IsDir() {
			fmt.Fprintf(w, "%s %d %d\n", name, info.Size(), info.ModTime().UnixNano())
		}
		return nil
	})
}

// WorkflowOf returns the workflow that runs the agent of a request.
func (c *Catalog) WorkflowOf(agent *agents.DynamicAgent, in agents.Input) (string, error) {
	if in.Pipeline != "" {
		return pipeline.Workflow.Name, nil
	}
	name := agent.Runs()
	var all []string
	for _, w := range c.Workflows() {
		all = append(all, w.Name)
	}
	if slices.Contains(all, name) {
		return name, nil
	}
	hint := "run it with the program that has it; docs/workflows.md says how to make one"
	if n := spelling.Nearest(name, all); n != "" {
		hint = fmt.Sprintf("did you mean workflow: %s?\n%s", n, hint)
	}
	return "", problem.Invalidf(hint, "the agent %s is led by the workflow %q, which this program does not have", in.Name(), name)
}

// Workflows lists the workflows that jobs here may run.
func (c *Catalog) Workflows() []flow.Workflow {
	return append([]flow.Workflow{agents.Workflow, pipeline.Workflow}, c.o.Workflows...)
}

// CheckWorkflows refuses workflows that a job could not name: those without a name, and
// those called like another.
func CheckWorkflows(list []flow.Workflow) error {
	taken := map[string]bool{}
	for _, w := range list {
		switch {
		case w.Name == "":
			return errors.New("a workflow has no name")
		case w.Name == agents.Workflow.Name || w.Name == pipeline.Workflow.Name:
			return fmt.Errorf("a workflow is called %q, which is one of adroit's own; give it another name", w.Name)
		case taken[w.Name]:
			return fmt.Errorf("two workflows are called %q; a job names one", w.Name)
		}
		taken[w.Name] = true
	}
	return nil
}

// LintWorkflow reports a workflow that leads an agent and that this program has not.
func (c *Catalog) LintWorkflow(a *agents.DynamicAgent) agents.Problems {
	_, err := c.WorkflowOf(a, agents.Input{Agent: a.Name})
	if err == nil {
		return nil
	}
	return agents.Problems{{File: a.Source.File, Severity: agents.Error, Message: err.Error(), Hint: problem.Hint(err)}}
}
