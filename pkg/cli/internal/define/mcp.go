package define

import (
	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/cli/internal/serve"
)

// New is adroit mcp.
func NewMcp(e *kit.Env) *cobra.Command {
	return kit.Lister("mcp", "Use the tools of MCP servers", mcpNewList(e), newAdd(e), newRemove(e), newCheck(e), mcpNewCall(e), newLogin(e), newLogout(e), serve.NewMCP(e))
}
