package define

import (
	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/cli/internal/request"
)

func newCall(e *kit.Env) *cobra.Command {
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
			call := adroit.ToolCall{Name: args[0], Dir: dir, Sandbox: level}
			return request.CallTool(cmd.Context(), e, call, args[1:], hint.Command("tools show %s", args[0])+" lists them", asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "the whole result as JSON")
	cmd.Flags().StringVarP(&dir, "dir", "C", ".", "work in this directory")
	cmd.Flags().StringVar(&level, "sandbox", "", "confine commands at this level: auto, full, bubblewrap, landlock, off (or ADROIT_SANDBOX)")
	return cmd
}
