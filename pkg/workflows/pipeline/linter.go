package pipeline

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/calling/schema"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/text/plainyaml"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workflows/coordinator"
)

// Known lists the names that a pipeline may use.
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
func (l *linter) coordinate(key string, c *coordinator.Bounds) {
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

func (l *linter) condition(key string, c *condition) {
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
		if _, err := schema.Exact(c.Where); err != nil {
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

// A Catalog is the pipelines of some layers, later ones over earlier ones. It
// never changes and is safe for concurrent use. A nil Catalog is empty.
type Catalog struct {
	pipelines agents.Set[Pipeline]
	problems  func() agents.Problems
}

var definition = agents.Kind[Pipeline]{
	Noun: "pipeline", Suffix: ".yaml", Limit: MaxFile,
	Name: func(p *Pipeline) string { return p.Name },
	Read: func(l agents.Layer, file string, text []byte) (*Pipeline, agents.Problems) {
		return parse(source{Layer: l.Name, File: file, Text: string(text)}, text)
	},
}

// Load finds the pipelines of the layers: *.yaml at the top of each. A file that cannot be used does not
// keep the others from loading, and does not uncover the pipeline it was to
// replace: [Catalog.Lookup] states what is wrong with it.
func Load(layers ...agents.Layer) *Catalog {
	set, problems := definition.Load(layers...)
	return &Catalog{set, problems}
}

// Problems returns what is wrong with any file.
func (c *Catalog) Problems() agents.Problems {
	if c == nil || c.problems == nil {
		return nil
	}
	return c.problems()
}

// With returns a catalog that also has the given pipelines, over those of the
// same name.
func (c *Catalog) With(ps ...*Pipeline) *Catalog {
	var all agents.Set[Pipeline]
	if c != nil {
		all = c.pipelines
	}
	out := &Catalog{pipelines: all.Clone()}
	for _, p := range ps {
		out.pipelines[p.Name] = agents.Of(p)
	}
	return out
}

// Names lists the pipelines, sorted.
func (c *Catalog) Names() []string {
	if c == nil {
		return nil
	}
	return c.pipelines.Names()
}

// List gives the pipelines that can be read, by name.
func (c *Catalog) List() []*Pipeline {
	if c == nil {
		return nil
	}
	return c.pipelines.Usable()
}

// Has reports whether a file claims the name, also one that cannot be used.
func (c *Catalog) Has(name string) bool { return c != nil && c.pipelines[name] != nil }

// An UnknownError reports a name that no pipeline has.
type UnknownError struct {
	Name  string
	Names []string
}

func (e *UnknownError) Error() string {
	if len(e.Names) == 0 {
		return fmt.Sprintf("there is no pipeline %s, nor any other", e.Name)
	}
	return fmt.Sprintf("there is no pipeline %s", e.Name)
}

// Lookup finds a pipeline. The error is an *UnknownError, or an
// agents.Problems if its file cannot be read.
func (c *Catalog) Lookup(name string) (*Pipeline, error) {
	if !c.Has(name) {
		return nil, &UnknownError{name, c.Names()}
	}
	p, problems := c.pipelines[name].Value()
	if err := problems.Err(); err != nil {
		return nil, err
	}
	return p, nil
}

// Lint gives all that is wrong with a pipeline: what names nothing, what can
// never be run, what may never end, and values that are read before anything
// has written them.
func Lint(p *Pipeline, k Known) agents.Problems {
	l := &linter{report: report{src: p.Source}, p: p, k: k, ids: map[string]string{}, needs: map[string][]string{}}
	l.collect(p.Steps, "steps")
	l.header()
	l.each(p.Steps, "steps", l.step)
	if len(p.Steps) > 0 {
		g := l.p.edges()
		l.reachable(g)
		l.cycles(g)
		l.order(g)
		l.data(g)
	}
	l.within()
	return l.list.Sort()
}

// Lint gives all that is wrong with all pipelines, by file and place.
func (c *Catalog) Lint(k Known) agents.Problems {
	k.Pipelines = c
	var all agents.Problems
	for _, name := range c.Names() {
		p, problems := c.pipelines[name].Value()
		all = append(all, problems...)
		if p != nil {
			all = append(all, Lint(p, k)...)
		}
	}
	return all.Sort()
}

func (l *linter) collect(steps []Step, key string) {
	l.each(steps, key, func(key string, s *Step) {
		if s.ID == "" {
			return
		}
		if first, twice := l.ids[s.ID]; twice {
			at := l.src.place(first + ".id")
			hint := "choose another"
			if at.Line > 0 {
				hint = fmt.Sprintf("the first is in line %d; choose another", at.Line)
			}
			l.bad(key+".id", hint, "two steps have the id %s", s.ID)
			return
		}
		l.ids[s.ID], l.needs[s.ID] = key, s.Needs
	})
}

func (l *linter) header() {
	p := l.p
	if len(p.Steps) == 0 {
		l.built("steps", "list at least one under steps:", "the pipeline has no steps")
	}
	if !nameRule.MatchString(p.Name) {
		l.built("name", "use lower case letters, digits, - and _, as in fix-bug", "the name %q cannot be used", p.Name)
	}
	if p.MaxSteps < 0 || p.MaxSteps > maxMaxSteps {
		l.bad("max_steps", "", "max_steps is %d; it is from 1 to %d", p.MaxSteps, maxMaxSteps)
	}
	if l.p.Limits.Turns != 0 || l.p.Limits.Rejects != 0 || l.p.Limits.Calls != nil {
		l.bad("limits", "put turns, rejects and calls under defaults: {limits: …}, where they are each agent's", "the limits of a pipeline are tokens, cost_usd and time")
	}
	if p.OnFailure != "" && !slices.Contains(policies, p.OnFailure) {
		l.bad("onFailure", "it is one of "+strings.Join(policyNames(), ", "), "onFailure of the pipeline is %q", p.OnFailure)
	}
	asks := p.OnFailure == policyRecover
	l.each(p.Steps, "steps", func(_ string, s *Step) { asks = asks || s.OnFailure == string(policyRecover) })
	switch {
	case asks && p.Recovery == nil:
		l.bad("onFailure", "name one with recovery: NAME", "the policy is recovery, but no recovery agent is named")
	case !asks && p.Recovery != nil:
		l.at(l.src.place("recovery"), agents.Warning, "add onFailure: recovery", "the recovery agent is never asked")
	}
	if p.Recovery != nil {
		l.agent(&p.Recovery.Agent, "recovery.agent")
		l.model(p.Recovery.Model, "recovery.model")
		if s := p.Recovery.Agent.Spec; s != nil && len(s.Output) > 0 {
			l.bad("recovery", "take it out", "output: of the recovery agent is given: a decision")
		}
	}
	l.model(p.Defaults.Model, "defaults.model")
	l.coordinate("onFailure", p.Coordinate)
}

// A source is a pipeline's origin; the zero value means it was built.
type source struct {
	Layer string `json:"layer,omitempty"`
	File  string `json:"file,omitempty"`
	Text  string `json:"-"` // the file as it was read

	at map[string]plainyaml.Place // of keys, as in steps.2.onFailure
}

// place gives the position of a key, or of the closest one around it.
func (s source) place(key string) plainyaml.Place {
	for {
		if p, ok := s.at[key]; ok {
			return p
		}
		cut := strings.LastIndexByte(key, '.')
		if cut < 0 {
			return s.at[""]
		}
		key = key[:cut]
	}
}

// A report collects the problems of one pipeline.
type report struct {
	src  source
	list agents.Problems
}

func (r *report) at(p plainyaml.Place, s agents.Severity, hint, format string, args ...any) {
	r.list = append(r.list, agents.Problem{File: r.src.File, Line: p.Line, Col: p.Col, Severity: s, Message: fmt.Sprintf(format, args...), Hint: hint})
}

// bad reports an error at a key.
func (r *report) bad(key, hint, format string, args ...any) {
	r.at(r.src.place(key), agents.Error, hint, format, args...)
}

// built reports a fault of a pipeline that was made in Go. Of one in a file, the parser has.
func (l *linter) built(key, hint, format string, args ...any) {
	if l.p.Source.File == "" {
		l.bad(key, hint, format, args...)
	}
}

// near is a hint for a name that is not among some.
func near(name string, names []string, otherwise string) string {
	// To a name of one or two letters, every other such is near.
	if n := spelling.Nearest(name, names); n != "" && len(name) > 2 {
		return "did you mean " + n + "?"
	}
	if otherwise == "" && len(names) > 0 {
		return "there are " + strings.Join(names, ", ")
	}
	return otherwise
}

// suggestion is near for the middle of a sentence.
func suggestion[V any](name string, m map[string]V) string {
	names := sorted(m)
	if n := spelling.Nearest(name, names); n != "" {
		return "; did you mean " + n + "?"
	}
	if len(names) == 0 || len(names) > 20 {
		return ""
	}
	return "; there are " + strings.Join(names, ", ")
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
