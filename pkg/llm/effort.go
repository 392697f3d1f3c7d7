package llm

import "slices"

// An Effort is how much a model shall think before it answers. Empty leaves
// it to the model. Adapters say it in their server's words; what a model cannot
// do is left out and noted in the [Response].
type Effort string

const (
	EffortLow    Effort = "low"
	EffortMedium Effort = "medium"
	EffortHigh   Effort = "high"
)

// Known reports whether e is empty or one of those that there are.
func (e Effort) Known() bool {
	return slices.Contains([]Effort{"", EffortLow, EffortMedium, EffortHigh}, e)
}
