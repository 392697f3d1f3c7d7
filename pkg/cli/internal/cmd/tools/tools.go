// Package tools holds the commands of adroit tools.
package tools

import (
	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/pkg/cli/internal/env"
)

// New is adroit tools.
func New(e *env.Env) *cobra.Command {
	return env.Lister("tools", "List, show, check, call and create tools", newList(e), newShow(e), newLint(e), newCall(e), newNew(e))
}
