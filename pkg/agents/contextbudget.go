package agents

import (
	"cmp"
	"fmt"

	"github.com/adroit-run/adroit/internal/calling/route"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
)

// readResult reads what a result has that was not shown.
const readResult = "read_result"

// withResults gives own with the tool that reads results on, if there are tools
// whose results may be long and nothing denies it.
func withResults(a *DynamicAgent, own, set *tools.Set) *tools.Set {
	long := false
	for t := range own.All() {
		long = long || t.Needs&(tools.Exec|tools.Shell|tools.Net) != 0 || t.Needs&(tools.Read|tools.Write) == tools.Read
	}
	if !long {
		return own
	}
	with, err := set.Only(append(own.Names(), readResult)...)
	if err != nil {
		return own // it is not part of this program
	}
	return with.Without(a.Deny...)
}

// setBudget bounds the conversation of a task whose model is known.
func setBudget(env Env, t *executor.Task) error {
	b := &turn.Budget{Result: env.Budget.Result}
	if t.Options.Window == 0 {
		ask := env.Window
		if env.Budget.Model != "" {
			ask = nil // a recording stands in for it
		}
		b.Window, b.Guess = route.Windows(env.Budget.Windows).Of(cmp.Or(env.Budget.Model, t.Model), ask)
	}
	if ref := cmp.Or(env.Budget.Cheap, env.Think); ref != "" {
		r, err := routeOf(env, ref)
		if err != nil {
			return fmt.Errorf("the model that summarises: %w", err)
		}
		b.Cheap = r.Model
		if cost, ok := env.Prices.Of(r.Model); ok && r.Model != t.Model {
			if t.Prices == nil {
				t.Prices = llm.Prices{}
			}
			t.Prices[r.Model] = cost
		}
	}
	t.Budget = b
	return nil
}
