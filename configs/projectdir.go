package configs

import (
	"path"
	"strings"
)

const (
	AgentsDir    = ".adroit/agents"
	ClaudeAgents = ".claude/agents" // in the form of Claude Code; the weaker
	PipelinesDir = ".adroit/pipelines"
	Problems     = ".adroit/problems"
)

// Skills are the directories of a workspace's skills, in ascending precedence.
var Skills = []string{".claude/skills", ".adroit/skills"}

// Any is the key of Options.TestCommands for workspaces that it does not name.
const Any = "*"

// Defines reports whether a file, by its name in a directory of definitions, is one that
// is read: it ends in suffix and is neither hidden nor a README. below is true of a
// directory of Claude Code, which reads those in directories as well.
func Defines(name, suffix string, below bool) bool {
	base := path.Base(name)
	return strings.HasSuffix(base, suffix) && !strings.HasPrefix(base, ".") && !strings.EqualFold(base, "README"+suffix) &&
		(base == name || below && !strings.HasPrefix(name, ".") && !strings.Contains(name, "/."))
}
