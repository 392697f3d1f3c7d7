package agents

import (
	"fmt"
	"slices"

	"github.com/adroit-run/adroit/pkg/executor"
)

func (d *decoder) calling(n *node) {
	var c string
	d.String(n, "calling", &c)
	if !slices.Contains(executor.Callings, executor.Calling(c)) {
		d.bad(n, "it is one of auto, native, constrained, text", "calling is %q", c)
		return
	}
	d.a.Calling = executor.Calling(c)
}

// called is how tools are called in a job.
func (a *DynamicAgent) called(in Input) (executor.Calling, error) {
	c := first(in.Calling, a.Calling)
	if c != "" && !slices.Contains(executor.Callings, c) {
		return "", fmt.Errorf("calling is %q; it is one of %v", c, executor.Callings)
	}
	return c, nil
}
