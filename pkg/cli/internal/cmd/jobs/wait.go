package jobs

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/attach"
	"github.com/adroit-run/adroit/pkg/cli/internal/env"
	"github.com/adroit-run/adroit/pkg/cli/internal/exit"
	"github.com/adroit-run/adroit/pkg/cli/internal/render"
)

func newWait(e *env.Env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "wait ID",
		Short:   "Wait until a job has stopped; the exit code says how",
		Example: "  id=$(adroit run builder PROMPT -d); adroit jobs wait $id",
		Args:    cobra.ExactArgs(1),
		RunE: e.With(func(ctx context.Context, c adroit.Client, args []string) error {
			j, err := c.Wait(ctx, args[0])
			if err != nil && ctx.Err() != nil {
				return exit.Stopped(ctx)
			}
			if err != nil {
				return err
			}
			d, err := c.Job(ctx, j.ID)
			if err != nil {
				return err
			}
			if asJSON {
				render.Event(e.Out, render.LastEvent(d, e.Now()))
			} else {
				render.Outcome(e.Screen(), e.OutScreen(), render.Ending{Job: d, Took: j.Updated.Sub(j.Started), Artifacts: attach.Products(ctx, c, d)})
			}
			return exit.With(exit.OfJob(ctx, j.Status))
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the job's last event as JSON")
	return cmd
}
