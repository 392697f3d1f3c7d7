package mcp

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/env"
	"github.com/adroit-run/adroit/pkg/cli/internal/exit"
	"github.com/adroit-run/adroit/pkg/cli/internal/render"
	"github.com/adroit-run/adroit/pkg/executor"
)

func newCall(e *env.Env) *cobra.Command {
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
			input, err := "{}", error(nil)
			if len(args) == 3 {
				if input, err = e.Content(args[2]); err != nil {
					return err
				}
			}
			if !json.Valid([]byte(input)) {
				return exit.Usagef("adroit mcp check "+args[0]+" lists the tools", "the arguments are not valid JSON")
			}
			root, err := env.Directory(dir)
			if err != nil {
				return err
			}
			c, err := e.Client()
			if err != nil {
				return err
			}
			res, err := c.CallTool(cmd.Context(), adroit.ToolCall{Name: args[1], Server: args[0], Args: json.RawMessage(input), Dir: root})
			if err != nil {
				return err
			}
			err = env.Print(e.Out, asJSON, res, func(w io.Writer, r *executor.ToolResult) {
				fmt.Fprintln(w, strings.TrimSuffix(render.Sanitize(r.Text), "\n"))
			})
			if err == nil && res.Failed {
				return exit.With(exit.Failed)
			}
			return err
		},
	}
	env.JSONFlag(cmd, &asJSON)
	cmd.Flags().StringVarP(&dir, "dir", "C", ".", "as a job in this directory has it")
	return cmd
}
