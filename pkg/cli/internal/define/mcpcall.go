package define

import (
	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/cli/internal/request"
)

func mcpNewCall(e *kit.Env) *cobra.Command {
	var asJSON bool
	var dir string
	cmd := &cobra.Command{
		Use:   "call SERVER TOOL [JSON|@FILE|-]",
		Short: "Call a tool of an MCP server, without a model",
		Long: "Calls a tool and prints what a model would get. Nobody is asked: whoever types this has\n" +
			"decided.",
		Example: "  adroit mcp call files list_directory '{\"path\": \"/srv/docs\"}'",
		Args:    cobra.RangeArgs(2, 3),
		RunE: func(cmd *cobra.Command, args []string) error {
			call := adroit.ToolCall{Name: args[1], Server: args[0], Dir: dir}
			return request.CallTool(cmd.Context(), e, call, args[2:], hint.Command("mcp check %s", args[0])+" lists the tools", asJSON)
		},
	}
	kit.JSONFlag(cmd, &asJSON)
	cmd.Flags().StringVarP(&dir, "dir", "C", ".", "as a job in this directory has it")
	return cmd
}
