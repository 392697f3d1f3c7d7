package jobcmd

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/cli/internal/request"
	"github.com/adroit-run/adroit/pkg/cli/internal/show"
)

func newWait(e *kit.Env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "wait ID",
		Short:   "Wait until a job has stopped; the exit code says how",
		Example: "  id=$(adroit run builder PROMPT -d); adroit jobs wait $id",
		Args:    cobra.ExactArgs(1),
		RunE: e.With(func(ctx context.Context, c adroit.Client, args []string) error {
			j, err := c.Wait(ctx, args[0])
			if err != nil && ctx.Err() != nil {
				return kit.Stopped(ctx)
			}
			if err != nil {
				return err
			}
			d, err := c.Job(ctx, j.ID)
			if err != nil {
				return err
			}
			if asJSON {
				show.Event(e.Out, show.LastEvent(d, e.Now()))
			} else {
				show.Outcome(e.Screen(), e.OutScreen(), show.Ending{Job: d, Took: j.Updated.Sub(j.Started), Artifacts: request.Products(ctx, c, d)})
			}
			return kit.With(kit.OfJob(ctx, j.Status))
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the job's last event as JSON")
	return cmd
}
