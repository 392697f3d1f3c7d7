package machine

import (
	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
)

// New is adroit config.
func New(e *kit.Env) *cobra.Command {
	return kit.Lister("config", "Show and set the configuration, and where each value comes from", newShow(e), newGet(e), newSet(e), newPath(e))
}
