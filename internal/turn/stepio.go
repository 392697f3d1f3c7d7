// Package turn is what the loop of pkg/executor and its handlers in internal/host share:
// the inputs and outputs of steps and their names in the journal, the three ways in which
// a model calls tools, how a conversation is made to fit a context window, what a message
// attaches, what a model does again and again, and servers that have tools.
//
// It is text processing without I/O.
package turn

import "encoding/json"

// ResolveStep is the kind of the first step of every agent's job. It pins the task:
// from there on the job does not depend on agent files, configuration or the tools'
// prose.
const ResolveStep = "resolve"

// Kinds of the steps that the loop asks for.
const (
	ModelStep    = "model"    // one request to a model
	ToolStep     = "tool"     // one call of a tool
	CompactStep  = "compact"  // makes the conversation smaller
	WorktreeStep = "worktree" // copies the work tree for a sub-agent, or merges it back
)

// Data of the deltas of a tool that runs a command: the command, and a piece of what
// it prints. Others are what a call is doing, in a line.
var (
	CommandDelta = json.RawMessage(`{"command":true}`)
	OutputDelta  = json.RawMessage(`{"output":true}`)
)
