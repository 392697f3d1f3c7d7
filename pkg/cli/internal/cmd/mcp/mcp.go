// Package mcp holds the commands of adroit mcp.
package mcp

import (
	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/pkg/cli/internal/cmd/serve"
	"github.com/adroit-run/adroit/pkg/cli/internal/env"
)

// New is adroit mcp.
func New(e *env.Env) *cobra.Command {
	return env.Lister("mcp", "Use the tools of MCP servers", newList(e), newAdd(e), newRemove(e), newCheck(e), newCall(e), newLogin(e), newLogout(e), serve.NewMCP(e))
}
