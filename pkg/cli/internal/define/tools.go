package define

import (
	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
)

// New is adroit tools.
func NewTools(e *kit.Env) *cobra.Command {
	return kit.Lister("tools", "List, show, check, call and create tools", toolsNewList(e), toolsNewShow(e), newLint(e), newCall(e), newToolPackage(e))
}
