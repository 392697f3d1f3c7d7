package tools

import (
	"encoding/json"

	"github.com/adroit-run/adroit/internal/schema"
	"github.com/adroit-run/adroit/internal/workspace/process"
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

// InferSchema infers the schema of a struct from its fields and their json and
// jsonschema tags, as [New] does for the arguments of a tool. A description in a
// tag may hold commas; a word in a tag that is no setting is an error. Fields
// without omitempty or omitzero are required, unknown properties are refused. Types
// that have no finite schema or that a model cannot fill in sensibly are refused
// with an error that reports where.
func InferSchema[T any]() (*Schema, error) { return schema.Infer[T]() }

// CompileSchema reads a JSON Schema of any draft from 4 to 2020-12. References
// within the document are inlined; recursive ones and those to other documents are
// refused, and nothing is ever loaded.
func CompileSchema(raw json.RawMessage) (*Schema, error) { return schema.Compile(raw) }
