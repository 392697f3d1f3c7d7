package tools

import (
	"github.com/adroit-run/adroit/internal/calling/schema"
	"github.com/adroit-run/adroit/internal/work/process"
)

// What is implemented below internal/ and appears in what tools get.
type (
	// A CommandRunner runs the commands of a tool; it is Env.Exec.
	CommandRunner = process.Exec
	// A Command is a command to run.
	Command = process.Cmd
	// A CommandOutput is what a command did, or has done so far.
	CommandOutput = process.Output
	// A Process is a command that was started.
	Process = process.Process
	// A Schema is a JSON Schema with the rules to check values; it is Tool.Input.
	Schema = schema.Schema
)
