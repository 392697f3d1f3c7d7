// Package workflows lists the workflows that ship beside the agent loop, for
// adroit.Options.Workflows. Their code is below internal/workflows: short files to
// copy from.
package workflows

import (
	"github.com/adroit-run/adroit/internal/workflows"
	"github.com/adroit-run/adroit/pkg/flow"
)

// All are the workflows that ship.
func All() []flow.Workflow { return workflows.All() }
