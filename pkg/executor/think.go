package executor

import (
	"github.com/adroit-run/adroit/internal/executor/stepio"
	"github.com/adroit-run/adroit/pkg/llm/price"
)

// thinking is what a call may think with now.
func (t *Task) thinking(s *State) *stepio.Think {
	if t.Think == nil {
		return nil
	}
	k := *t.Think
	l, used := t.limits(s), s.used()
	k.Tokens, k.USD = -1, -1
	if l.Tokens > 0 {
		k.Tokens = max(0, l.Tokens-used.Tokens)
	}
	if l.CostUSD > 0 {
		k.USD = max(0, l.CostUSD-used.CostUSD)
		k.Prices = price.Table{}
		for _, ref := range k.Refs() {
			k.Prices[ref] = t.price(ref)
		}
	}
	return &k
}
