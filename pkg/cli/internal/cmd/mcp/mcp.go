// Package mcp holds the commands of adroit mcp.
package mcp

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/pkg/cli/internal/cmd/serve"
	"github.com/adroit-run/adroit/pkg/cli/internal/env"
)

// New is adroit mcp.
func New(e *env.Env) *cobra.Command {
	return env.Lister("mcp", "Use the tools of MCP servers", newList(e), newAdd(e), newRemove(e), newCheck(e), newCall(e), newLogin(e), newLogout(e), serve.NewMCP(e))
}

// pairs reads NAME=VALUE.
func pairs(list []string, what string) (map[string]string, error) {
	out := map[string]string{}
	for _, p := range list {
		name, value, ok := strings.Cut(p, "=")
		if !ok || name == "" {
			return nil, usage(what)
		}
		out[name] = value
	}
	return out, nil
}
