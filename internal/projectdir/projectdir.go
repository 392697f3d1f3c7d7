// Package projectdir names what a workspace may bring. It is used only where the
// operator trusts it: an agent or a pipeline decides what runs.
package projectdir

const (
	Agents       = ".adroit/agents"
	ClaudeAgents = ".claude/agents" // in the form of Claude Code; the weaker
	Pipelines    = ".adroit/pipelines"
	Problems     = ".adroit/problems"
)

// Skills are where a workspace keeps skills, the stronger last.
var Skills = []string{".claude/skills", ".adroit/skills"}

// Any is the key of Options.TestCommands for workspaces that it does not name.
const Any = "*"
