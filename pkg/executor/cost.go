package executor

import (
	"maps"
	"slices"

	"github.com/adroit-run/adroit/pkg/llm"
)

// addUsage takes into account what a model has read and written. All that bounds
// tokens and money goes by it.
func (s *State) addUsage(t *Task, model string, u llm.Usage) {
	if s.ByModel == nil && model != t.Model {
		s.ByModel = map[string]llm.Usage{}
		if s.Usage != (llm.Usage{}) {
			s.ByModel[t.Model] = s.Usage
		}
	}
	s.Usage = s.Usage.Add(u)
	if s.ByModel == nil {
		s.Cost = s.Reported + t.Price.Cost(s.Usage)
		return
	}
	s.ByModel[model] = s.ByModel[model].Add(u)
	s.Cost = s.Reported
	for _, m := range slices.Sorted(maps.Keys(s.ByModel)) {
		s.Cost += t.price(m).Cost(s.ByModel[m])
	}
}

// Attribute names the model that all of Usage is of, if it was one alone: the
// state of a sub-agent goes where nobody knows it.
func (s *State) Attribute(model string) {
	if s.ByModel == nil && s.Usage != (llm.Usage{}) {
		s.ByModel = map[string]llm.Usage{model: s.Usage}
	}
}

func (s *State) addCosts(t *Task, list []ModelCost) {
	for _, x := range list {
		s.addUsage(t, x.Model, x.Usage)
	}
}

// addReports adds what an order has taken to the accounts. Whoever reads what the
// sub-agent returns has read what it has.
func (s *State) addReports(reps ...Report) {
	for i := range reps {
		s.SubAgents = s.SubAgents.add(reps[i].Usage)
		s.Taint |= reps[i].Taint
	}
	for i := range reps {
		s.inherit(reps[i].raisedRest)
	}
}
