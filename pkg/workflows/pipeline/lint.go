package pipeline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/pkg/agents"
)

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
		l.bad("steps", "list at least one under steps:", "the pipeline has no steps")
	}
	if p.Source.File == "" && !nameRule.MatchString(p.Name) {
		l.bad("name", "use lower case letters, digits, - and _, as in fix-bug", "the name %q cannot be used", p.Name)
	}
	if p.MaxSteps < 0 || p.MaxSteps > maxMaxSteps {
		l.bad("max_steps", "", "max_steps is %d; it is from 1 to %d", p.MaxSteps, maxMaxSteps)
	}
	if l.p.Limits.Turns != 0 || l.p.Limits.Rejects != 0 || l.p.Limits.Calls != nil {
		l.bad("limits", "put turns, rejects and calls under defaults: {limits: …}, where they are each agent's", "the limits of a pipeline are tokens, cost_usd and time")
	}
	if p.OnFailure != "" && !slices.Contains(Policies, p.OnFailure) {
		l.bad("onFailure", "it is one of "+strings.Join(policyNames(), ", "), "onFailure of the pipeline is %q", p.OnFailure)
	}
	asks := p.OnFailure == Recover
	l.each(p.Steps, "steps", func(_ string, s *Step) { asks = asks || s.OnFailure == string(Recover) })
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
