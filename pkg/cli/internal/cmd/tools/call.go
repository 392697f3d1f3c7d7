package tools

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
	var dir, level string
	cmd := &cobra.Command{
		Use:   "call NAME [JSON|@FILE|-]",
		Short: "Call a tool in this directory, without a model",
		Long: "Calls a tool in the current directory, or that of -C, and prints the result a model would get.\n" +
			"There is no job, so its changes cannot be undone.",
		Example: "  adroit tools call search '{\"pattern\": \"TODO\"}'",
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := Lookup(e, args[0]); err != nil {
				return err
			}
			input, err := "{}", error(nil)
			if len(args) == 2 {
				if input, err = e.Content(args[1]); err != nil {
					return err
				}
			}
			if !json.Valid([]byte(input)) {
				return exit.Usagef("adroit tools show "+args[0]+" lists them", "the arguments are not valid JSON")
			}
			root, err := env.Directory(dir)
			if err != nil {
				return err
			}
			c, err := e.Client()
			if err != nil {
				return err
			}
			res, err := c.CallTool(cmd.Context(), adroit.ToolCall{Name: args[0], Args: json.RawMessage(input), Dir: root, Sandbox: level})
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
	cmd.Flags().BoolVar(&asJSON, "json", false, "the whole result as JSON")
	cmd.Flags().StringVarP(&dir, "dir", "C", ".", "work in this directory")
	cmd.Flags().StringVar(&level, "sandbox", "", "confine commands at this level: auto, full, bubblewrap, landlock, off (or ADROIT_SANDBOX)")
	return cmd
}
