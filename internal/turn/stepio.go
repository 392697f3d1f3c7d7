// Package stepio has the inputs and outputs of the steps that the loop asks for, and
// their names in the journal. The loop writes them, its handlers read them.
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
