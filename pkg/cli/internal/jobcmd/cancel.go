package jobcmd

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
)

func newCancel(e *kit.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "cancel ID",
		Short: "Cancel a job, wherever it runs, and wait until it has stopped",
		Long: "Cancels a job, even one that another process runs, and waits until it has stopped. A cancelled job cannot be\n" +
			"resumed: adroit jobs retry runs its task again from the start. To stop a job and resume it later, interrupt its\n" +
			"process with Ctrl-C or SIGTERM.",
		Example: "  adroit jobs cancel J4K2",
		Args:    cobra.ExactArgs(1),
		RunE: e.With(func(ctx context.Context, c adroit.Client, args []string) error {
			j, err := c.Cancel(ctx, args[0])
			if err != nil {
				return err
			}
			d, err := c.Job(ctx, j.ID)
			if err != nil {
				return err
			}
			next := hint.Command("jobs logs %s", j.ID)
			if d.Changes.Changed {
				next = hint.Command("jobs undo %s", j.ID)
			}
			fmt.Fprintf(e.Out, "%s cancelled    %s\n", j.ID, next)
			return nil
		}),
	}
}
