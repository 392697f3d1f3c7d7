// Package stepio has the inputs and outputs of the steps that the loop asks for, and
// their names in the journal. The loop writes them, its handlers read them.
package stepio

// Kinds of the steps that the loop asks for.
const (
	ModelStep    = "model"    // one request to a model
	ToolStep     = "tool"     // one call of a tool
	CompactStep  = "compact"  // makes the conversation smaller
	WorktreeStep = "worktree" // copies the work tree for a sub-agent, or merges it back
)
