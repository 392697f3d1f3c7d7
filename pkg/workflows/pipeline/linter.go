package pipeline

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/calling/schema"
	"github.com/adroit-run/adroit/internal/coordinator"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/tools"
)

// Known is what a pipeline may name.
type Known struct {
	Tools     *tools.Set
	Agents    *agents.Catalog
	Pipelines *Catalog
	// Model states what is wrong with the name of a model, nil if nothing is. A
	// nil Model leaves models alone.
	Model func(ref string) error
	// Workflow states what is wrong with what leads an agent; nil leaves that alone.
	Workflow func(*agents.DynamicAgent) agents.Problems
}

type linter struct {
	report
	p   *Pipeline
	k   Known
	ids map[string]string // to keys

	needs map[string][]string // of steps by their ids
}

// each calls f for all steps, those of groups too.
func (l *linter) each(steps []Step, key string, f func(key string, s *Step)) {
	for i := range steps {
		k := fmt.Sprintf("%s.%d", key, i)
		f(k, &steps[i])
		l.each(steps[i].Parallel, k+".parallel", f)
	}
}

// coordinate checks that the agents of a coordinator are there, and repair something.
func (l *linter) coordinate(key string, c *Coordinate) {
	if c == nil {
		return
	}
	if name := c.Supervise; name != "" {
		at := key + ".coordinate.supervise"
		a, err := l.k.Agents.Lookup(name)
		var output struct{ Properties map[string]any }
		switch {
		case err != nil:
			l.bad(at, near(name, l.k.Agents.Names(), ""), "there is no agent %s", name)
		case json.Unmarshal(a.Output, &output) != nil || output.Properties["verdict"] == nil:
			l.bad(at, "give it the output of "+coordinator.Supervisor, "the agent %s gives no verdict, so it cannot review", name)
		}
	}
	for i, name := range c.Agents {
		at := fmt.Sprintf("%s.coordinate.agents.%d", key, i)
		a, err := l.k.Agents.Lookup(name)
		switch {
		case err != nil:
			l.bad(at, near(name, l.k.Agents.Names(), ""), "there is no agent %s", name)
		case len(a.ProblemTypes) == 0:
			l.bad(at, "give it problem_types", "the agent %s repairs no type of problem", name)
		}
	}
}

func (l *linter) condition(key string, c *Condition) {
	if c.Step != "" {
		if _, ok := l.ids[c.Step]; !ok {
			l.bad(key+".step", near(c.Step, sorted(l.ids), ""), "there is no step %s", c.Step)
		}
		for _, v := range []json.RawMessage{c.Is, c.Not} {
			if s := text(v); v != nil && s != "" && !slices.Contains(statuses, s) {
				l.bad(key, near(s, statuses, ""), "a step is never %q", s)
			}
		}
	}
	if c.Where != nil {
		if _, err := schema.Compile(c.Where); err != nil {
			l.bad(key+".where", "it is a JSON Schema, as in {minLength: 1}", "where cannot be used: %s", err)
		}
	}
}

func (l *linter) agent(a *Agent, key string) {
	if a.Spec != nil {
		for _, p := range l.faults(a.Spec) {
			if p.Line == 0 {
				at := l.src.place(key)
				p.Line, p.Col = at.Line, at.Col
			}
			p.File = l.src.File
			l.list = append(l.list, p)
		}
		l.model(a.Spec.Model, key+".model")
		return
	}
	found, err := l.k.Agents.Lookup(a.Name)
	var unknown *agents.UnknownError
	var broken agents.Problems
	switch {
	case a.Name == "":
		l.bad(key, "name one of "+strings.Join(l.k.Agents.Names(), ", "), "no agent is named")
	case errors.As(err, &unknown):
		l.bad(key, near(a.Name, l.k.Agents.Names(), hint.Command("agents list")+" lists the agents"), "there is no agent %s", a.Name)
	case errors.As(err, &broken):
		l.broken(key, a.Name, broken)
	case err != nil:
		l.bad(key, "", "the agent %s: %v", a.Name, err)
	default:
		l.model(found.Model, key)
		l.broken(key, a.Name, l.faults(found))
	}
}

func (l *linter) faults(a *agents.DynamicAgent) agents.Problems {
	all := agents.Lint(a, l.k.Tools)
	if l.k.Workflow != nil {
		all = append(all, l.k.Workflow(a)...)
	}
	return all
}

// broken reports the first reason why an agent that a step names cannot be used.
func (l *linter) broken(key, name string, all agents.Problems) {
	if i := slices.IndexFunc(all, func(p agents.Problem) bool { return p.Severity == agents.Error }); i >= 0 {
		l.bad(key, hint.Command("agents lint")+" says more", "the agent %s cannot be used: %s", name, all[i].Message)
	}
}

func (l *linter) model(ref, key string) {
	if ref == "" || l.k.Model == nil {
		return
	}
	if err := l.k.Model(ref); err != nil {
		words, help := err.Error(), ""
		var h interface{ Hint() string }
		if errors.As(err, &h) {
			help, _, _ = strings.Cut(h.Hint(), "\n")
		}
		l.bad(key, help, "%s", words)
	}
}

// group checks a parallel one.
func (l *linter) group(key string, s *Step) {
	if len(s.Parallel) == 0 {
		l.bad(key+".parallel", "list at least one step", "the group %s is empty", s.ID)
	}
	outputs := map[string]string{}
	var writers []string
	for i := range s.Parallel {
		kid := &s.Parallel[i]
		at := fmt.Sprintf("%s.parallel.%d", key, i)
		if other, twice := outputs[kid.Output]; twice && kid.Output != "" {
			l.bad(at+".output", "give each a variable of its own", "%s and %s write {{%s}} at the same time", other, kid.ID, kid.Output)
		}
		outputs[kid.Output] = kid.ID
		if kid.Agent != nil && !kid.Worktree && l.writes(kid.Agent) {
			writers = append(writers, kid.ID)
		}
		if kid.Await != nil {
			l.bad(at+".await", "put it before the group or behind it", "a step of a group cannot wait for a person")
		}
	}
	if len(writers) > 1 {
		l.at(l.src.place(key+".parallel"), agents.Warning, "give each worktree: true", "%s may change the same files at the same time", strings.Join(writers, ", "))
	}
}

// writes reports whether an agent has tools that change files.
func (l *linter) writes(a *Agent) bool {
	spec := a.Spec
	if spec == nil {
		var err error
		if spec, err = l.k.Agents.Lookup(a.Name); err != nil {
			return false
		}
	}
	own, _, err := agents.Offer(spec, l.k.Tools)
	if err != nil {
		return false
	}
	for t := range own.All() {
		if t.Needs&(tools.Write|tools.Shell) != 0 {
			return true
		}
	}
	return false
}
