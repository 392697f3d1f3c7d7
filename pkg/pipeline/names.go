// Package pipeline names what a program meets of pipelines: agents, commands and
// questions as ordered steps in a YAML file. adroit.Options.Pipelines has the
// files, adroit.Request.Target names one of them.
package pipeline

import "github.com/adroit-run/adroit/internal/pipeline"

// What is implemented below internal/pipeline.
type (
	// A Pipeline is one file.
	Pipeline = pipeline.Pipeline
	// A Pinned is a pipeline with all that its steps will use, as a job keeps it.
	Pinned = pipeline.Pinned
	// A Result is the output of a job that ran a pipeline.
	Result = pipeline.Result
	// A Row is how a step went, in a Result.
	Row = pipeline.Row
)
