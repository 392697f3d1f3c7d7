// Package pipeline names what a program meets of pipelines: agents, commands and
// questions as ordered steps in a YAML file. adroit.Options.Pipelines has the
// files, adroit.Request.Target names one of them.
package pipeline

// What is implemented below pkg/workflows/pipeline.
type ()
