// Package config holds the commands of adroit config.
package config

import (
	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/pkg/cli/internal/env"
)

// New is adroit config.
func New(e *env.Env) *cobra.Command {
	return env.Lister("config", "Show and set the configuration, and where each value comes from", newShow(e), newGet(e), newSet(e), newPath(e))
}
