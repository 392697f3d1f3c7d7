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

// Efforts are those that there are, in rising order.
var Efforts = []Effort{EffortLow, EffortMedium, EffortHigh}

// Known reports whether e is empty or one of [Efforts].
func (e Effort) Known() bool { return e == "" || slices.Contains(Efforts, e) }
