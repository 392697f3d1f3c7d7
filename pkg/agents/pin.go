package agents

import (
	"slices"

	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
)

// ByValue is an agent as others read it that do not know where it comes from: what its
// file does not get to allow itself is left out, and what is peculiar to the form of
// Claude Code is written in ours.
func ByValue(a *DynamicAgent, set *tools.Set) DynamicAgent {
	own := *a
	own.Permissions, _ = Rules(a)
	if !a.Source.Claude {
		return own
	}
	without := unknownTools(a, set)
	gone := func(name string) bool { return slices.Contains(without, name) }
	own.Tools = slices.DeleteFunc(slices.Clone(a.Tools), gone)
	own.Deny = slices.DeleteFunc(slices.Clone(a.Deny), func(name string) bool { return !ofServer(name) && set.Unknown(name) != nil })
	own.Prompt = plain(a.Prompt)
	return own
}

// PinTools takes from a set what a task needs to know of it.
func PinTools(set *tools.Set) []executor.Tool {
	var out []executor.Tool
	for t := range set.All() {
		out = append(out, executor.Tool{
			ToolSpec: llm.ToolSpec{Name: t.Name, Description: t.Description, Input: t.Input.JSON()},
			Needs:    t.Needs, Effect: t.Effect, Consumes: t.Consumes, Uses: t.Uses, Produces: t.Produces,
			Proves: t.Proves, ProvesWith: t.ProvesWith,
		})
	}
	return out
}
