package agentfile

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/adroit-run/adroit/internal/executor/toolcall"
	"github.com/adroit-run/adroit/pkg/agents"
)

// callModeOf is how tools are called in a job.
func callModeOf(a *agents.DynamicAgent, in agents.Input) (toolcall.Mode, error) {
	c := cmp.Or(in.Calling, a.Calling)
	if c != "" && !slices.Contains(toolcall.Modes, c) {
		return "", fmt.Errorf("calling is %q; it is one of %v", c, toolcall.Modes)
	}
	return c, nil
}
