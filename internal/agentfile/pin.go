package agentfile

import (
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
)

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
