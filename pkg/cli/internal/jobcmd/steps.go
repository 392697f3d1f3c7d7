package jobcmd

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/cli/internal/show"
)

func newSteps(e *kit.Env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "steps ID",
		Short: "List the steps of a job that changed files",
		Long: "Lists the steps that changed files, as jobs diff and jobs undo take them with --step and --from.\n" +
			"An undo is a step too, and can be undone. Uncertain is what changed while a command ran and may be somebody\n" +
			"else's work: diff and undo leave it out, unless --include-uncertain is given.",
		Example: "  adroit jobs steps last",
		Args:    cobra.ExactArgs(1),
		RunE: e.With(func(ctx context.Context, c adroit.Client, args []string) error {
			list, err := c.Steps(ctx, args[0])
			switch {
			case err != nil:
				return err
			case asJSON:
				return kit.JSON(e.Out, list.Steps)
			case len(list.Steps) == 0:
				fmt.Fprintf(e.Err, "%s changed nothing\n", list.Job)
				return nil
			}
			show.Steps(e.Out, list.Steps)
			return incomplete(e, list.Incomplete)
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	return cmd
}
