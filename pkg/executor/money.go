package executor

import (
	"maps"
	"slices"

	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/llm/price"
)

// A Spend is what was paid a model for within a step, beside what the step's
// answer tells: by the requests of a tool, by a hedge.
type Spend struct {
	Model    string    `json:"model"` // provider/model
	Usage    llm.Usage `json:"usage"`
	Requests int       `json:"requests"`
	// Guessed says that the provider did not get to count: what could have
	// been read and written was.
	Guessed bool `json:"guessed,omitempty"`
}

// price is what a model of the task costs.
func (t *Task) price(model string) price.Price {
	if model == t.Model {
		return t.Price
	}
	return t.Prices[model]
}

// pay takes into account what a model has read and written. All that bounds
// tokens and money goes by it.
func (s *State) pay(t *Task, model string, u llm.Usage) {
	if s.Used == nil && model != t.Model {
		s.Used = map[string]llm.Usage{}
		if s.Usage != (llm.Usage{}) {
			s.Used[t.Model] = s.Usage
		}
	}
	s.Usage = s.Usage.Add(u)
	if s.Used == nil {
		s.Cost = s.Reported + t.Price.Cost(s.Usage)
		return
	}
	s.Used[model] = s.Used[model].Add(u)
	s.Cost = s.Reported
	for _, m := range slices.Sorted(maps.Keys(s.Used)) {
		s.Cost += t.price(m).Cost(s.Used[m])
	}
}

// Attribute names the model that all of Usage is of, if it was one alone: the
// state of a sub-agent goes where nobody knows it.
func (s *State) Attribute(model string) {
	if s.Used == nil && s.Usage != (llm.Usage{}) {
		s.Used = map[string]llm.Usage{model: s.Usage}
	}
}

func (s *State) spend(t *Task, list []Spend) {
	for _, x := range list {
		s.pay(t, x.Model, x.Usage)
	}
}
