package agents

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/adroit-run/adroit/internal/turn"
)

// callModeOf is how tools are called in a job.
func callModeOf(a *DynamicAgent, in Input) (turn.Mode, error) {
	c := cmp.Or(in.Calling, a.Calling)
	if c != "" && !slices.Contains(turn.Modes, c) {
		return "", fmt.Errorf("calling is %q; it is one of %v", c, turn.Modes)
	}
	return c, nil
}
