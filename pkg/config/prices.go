package config

import (
	"fmt"
	"maps"
	"slices"

	"github.com/adroit-run/adroit/pkg/llm"
)

// builtInPrices are what common models cost, in USD per million tokens, as their
// providers published it on the date of each. Prices by the length of a prompt are
// those of short ones. What the configuration says of a model goes before.
var builtInPrices = llm.Prices{
	"anthropic/claude-opus-5-5*":   {In: 4, Out: 20, Cached: 0.2, Date: "2026-10-16"},
	"anthropic/claude-sonnet-5-5*": {In: 2, Out: 10, Cached: 0.1, Date: "2026-10-16"},
	"anthropic/claude-haiku-5-5*":  {In: 0.1, Out: 0.5, Cached: 0.01, Date: "2026-10-16"},
	"anthropic/claude-fable-5-1*":  {In: 10, Out: 50, Cached: 0.25, Date: "2026-10-16"},
	"anthropic/claude-opus-5":      {In: 5, Out: 25, Cached: 0.5, Date: "2026-10-16"},
	"anthropic/claude-sonnet-5":    {In: 2, Out: 10, Cached: 0.2, Date: "2026-10-16"},
	"openai/gpt-6.1-sol*":          {In: 2, Out: 10, Cached: 0.1, Date: "2026-10-16"},
	"openai/gpt-6-sol*":            {In: 2, Out: 10, Cached: 0.2, Date: "2026-10-16"},
	"openai/gpt-6-luna*":           {In: 0.1, Out: 0.5, Cached: 0.01, Date: "2026-10-16"},
	"openai/gpt-5":                 {In: 1.25, Out: 10, Cached: 0.125, Date: "2025-08-07"},
	"openai/gpt-5-mini*":           {In: 0.25, Out: 2, Cached: 0.025, Date: "2025-08-07"},
	"ollama/*":                     {Date: "2026-10-16"},
}

// priced completes the prices of the configuration: a model that it says anything
// of, by any pattern, keeps that.
func priced(own llm.Prices) llm.Prices {
	all := maps.Clone(own)
	if all == nil {
		all = llm.Prices{}
	}
	for model, p := range builtInPrices {
		if _, ok := own.Of(model); !ok {
			all[model] = p
		}
	}
	return all
}

// priceEntries are the prices that are in force.
func (c *Config) priceEntries() (out []entry) {
	for _, name := range slices.Sorted(maps.Keys(c.Prices)) {
		p := c.Prices[name]
		_, own := c.Rates[name]
		if !own && p.Date == "" {
			continue // of an account, not of tokens
		}
		if !own {
			c.from["prices."+name] = "built in, " + p.Date
		}
		out = append(out, entry{"prices." + name, fmt.Sprintf("in %g, out %g, cached %g USD per million", p.In, p.Out, p.Cached), own})
	}
	return out
}
