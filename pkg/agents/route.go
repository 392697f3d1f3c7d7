package agents

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
)

// routeOf finds what the name of a model stands for.
func routeOf(env Env, ref string) (executor.Route, error) {
	if ref == "" {
		return executor.Route{}, errors.New("no model is named, neither by the request nor by the agent nor as a default")
	}
	if env.Route == nil {
		return executor.Route{Model: ref}, nil
	}
	return env.Route(ref)
}

// setModels gives a task its models: its own, those behind it, the one for tools
// that think, and what they cost.
func setModels(a *DynamicAgent, t *executor.Task, r executor.Route, in Input, env Env, sets ...*tools.Set) error {
	t.Model, t.Fallbacks, t.Hedge = r.Model, r.Fallbacks, r.Hedge
	t.Options.Window = cmp.Or(t.Options.Window, r.Window)
	refs := r.Refs()
	if slices.ContainsFunc(sets, thinks) {
		own := executor.Route{Model: t.Model, Window: t.Options.Window, Fallbacks: t.Fallbacks}
		if ref := cmp.Or(a.ThinkModel, env.Think); ref != "" {
			var err error
			if own, err = routeOf(env, ref); err != nil {
				return fmt.Errorf("the model for tools that think: %w", err)
			}
		}
		own.Hedge = 0 // what a tool asks is small
		t.Think = &turn.Think{Route: own}
		refs = append(refs, own.Refs()...)
	}
	var unpriced []string
	for _, ref := range refs {
		cost, ok := env.Prices.Of(ref)
		switch {
		case !ok && !slices.Contains(unpriced, ref):
			unpriced = append(unpriced, ref)
		case ok && ref == t.Model:
			t.Price = cost
		case ok:
			if t.Prices == nil {
				t.Prices = llm.Prices{}
			}
			t.Prices[ref] = cost
		}
	}
	if t.Limits.CostUSD <= 0 || unpriced == nil {
		return nil
	}
	if in.Limits.CostUSD > 0 {
		return &PriceError{USD: t.Limits.CostUSD, Models: unpriced}
	}
	if slices.Contains(unpriced, t.Model) {
		t.Limits.CostUSD = -1 // an agent's own limit does not keep it from a model without a price
	}
	return nil
}

// A PriceError is a request for a limit of money on models of which nobody
// knows what they cost.
type PriceError struct {
	USD    float64
	Models []string
}

func (e *PriceError) Error() string {
	return fmt.Sprintf("a limit of %.2f USD needs the price of %s; configure it", e.USD, strings.Join(e.Models, ", "))
}

func thinks(set *tools.Set) bool {
	for t := range set.All() {
		if t.Needs&tools.Think != 0 {
			return true
		}
	}
	return false
}

// modelOf is the name of the model that a request is for.
func modelOf(a *DynamicAgent, in Input, env Env) string {
	p, own := in.Parent, a.Model
	if isLesser(env, own) {
		own = ""
	}
	if p == nil {
		return cmp.Or(in.Model, own, env.Model)
	}
	if p.Force {
		return p.Model
	}
	return cmp.Or(in.Model, own, p.Model, env.Model)
}

func isLesser(env Env, ref string) bool {
	if env.Lesser != nil {
		return env.Lesser(ref)
	}
	return ref == "cheap" || ref == "strong"
}
