package executor

import "github.com/adroit-run/adroit/pkg/llm/price"

// A Think is the model that tools which think are given, and what one call of
// such a tool may take of it. It is pinned with the task and part of the
// call's step, with what the job's limits leave at that point.
type Think struct {
	Route
	MaxTokens int `json:"max_tokens,omitempty"` // of one answer; default 2048
	Requests  int `json:"requests,omitempty"`   // of one call of a tool; default 16
	// Tokens and USD are what the job has left; -1 is without end.
	Tokens int         `json:"tokens,omitempty"`
	USD    float64     `json:"usd,omitempty"`
	Prices price.Table `json:"prices,omitempty"`
}

// thinking is what a call may think with now.
func (t *Task) thinking(s *State) *Think {
	if t.Think == nil {
		return nil
	}
	k := *t.Think
	l := t.limits(s)
	k.Tokens, k.USD = -1, -1
	if l.Tokens > 0 {
		k.Tokens = max(0, l.Tokens-s.Usage.In-s.Usage.Out-s.SubAgents.Usage.In-s.SubAgents.Usage.Out)
	}
	if l.CostUSD > 0 {
		k.USD = max(0, l.CostUSD-s.Cost-s.SubAgents.Cost)
		k.Prices = price.Table{}
		for _, ref := range k.Refs() {
			k.Prices[ref] = t.price(ref)
		}
	}
	return &k
}
