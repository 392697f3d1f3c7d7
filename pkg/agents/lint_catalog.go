package agents

import (
	"slices"

	"github.com/adroit-run/adroit/pkg/tools"
)

// lintSpawn states which of the agents that a may spawn do not exist.
func (c *Catalog) lintSpawn(a *DynamicAgent) Problems {
	rep := &report{src: a.Source}
	if a.Spawn == nil {
		return nil
	}
	for i := range a.Spawn.Agents {
		one := DynamicAgent{Spawn: &Spawn{Agents: a.Spawn.Agents[i : i+1]}}
		if _, err := spawns(&one, c); err != nil {
			rep.key("spawn", Error, "", "%v", err)
		}
	}
	return rep.list
}

// Lint gives all that is wrong with all agents, by file and place.
func (c *Catalog) Lint(set *tools.Set) Problems {
	var all Problems
	for _, name := range c.Names() {
		a, problems := c.agents[name].Value()
		all = append(all, problems...)
		if a != nil {
			all = append(all, Lint(a, set)...)
			all = append(all, c.lintSpawn(a)...)
			for _, alias := range c.missingTools(a) {
				rep := &report{src: a.Source}
				rep.key("aliases", Warning, "take it out", "the former name %s belongs to another agent", alias)
				all = append(all, rep.list...)
			}
		}
	}
	return all.Sort()
}

// missingTools lists the former names of a that lead to another agent.
func (c *Catalog) missingTools(a *DynamicAgent) []string {
	return slices.DeleteFunc(slices.Clone(a.Aliases), func(alias string) bool { return c.aliases()[alias] == a.Name })
}
