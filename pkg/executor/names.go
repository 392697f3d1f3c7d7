package executor

import (
	"github.com/adroit-run/adroit/internal/turn"
)

// What is implemented below internal/ and appears in what this package exports.
type (
	// A CallMode is how a model calls tools: auto, native, constrained or text.
	CallMode = turn.Mode
	// A Route is the model of a task and what to do when it does not answer.
	Route = turn.Route
	// A Fallback is a model behind another.
	Fallback = turn.Fallback
	// A ModelCost is what a step paid a model for beside its answer.
	ModelCost = turn.ModelCost
)
