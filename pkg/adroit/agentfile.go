package adroit

import (
	"github.com/adroit-run/adroit/pkg/agents"
)

// ParseAgent reads an agent file. name is the file's name, for problems, and gives
// the agent its name unless the front matter does. The agent is nil if the front
// matter cannot be read at all; with other errors among the problems it is as much
// as was understood. [Runtime.Agent] runs it; whether its tools exist is found then.
func ParseAgent(name string, src []byte) (*agents.DynamicAgent, agents.Problems) {
	return agents.Parse(name, src)
}
