package catalog

import (
	"github.com/adroit-run/adroit/internal/coordinator"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workflows/pipeline"
)

// Options are what a Catalog is made of.
type Options struct {
	Agents    []agents.Layer
	Literals  []agents.DynamicAgent // of a program, over those of Agents
	Pipelines []agents.Layer
	Problems  []agents.Layer
	Detectors []coordinator.Detector // of a program; those that are not valid are not used
	Workflows []flow.Workflow        // beside those of agents and of pipelines
	Agent     string                 // of requests that name none; empty: builder in a git repository
	// Tools are those of the program.
	Tools func() (*tools.Set, error)
	Warn  func(format string, args ...any)
}

// Models know the references to models.
type Models interface {
	Check(ref string) error
	Unset(ref string) bool
}

// A Catalog has what requests name. It is safe for concurrent use.
type Catalog struct {
	o Options
	// What the options have, without any project's; read when it is needed.
	agents    func() *agents.Catalog
	pipelines func() *pipeline.Catalog
}

// tools are those of the program; nil, which is empty, if they are not valid:
// whatever runs one reports that.
func (c *Catalog) tools() *tools.Set {
	set, _ := c.o.Tools()
	return set
}
