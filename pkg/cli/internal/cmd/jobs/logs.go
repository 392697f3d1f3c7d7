package jobs

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/env"
	"github.com/adroit-run/adroit/pkg/cli/internal/exit"
	"github.com/adroit-run/adroit/pkg/cli/internal/format"
	"github.com/adroit-run/adroit/pkg/cli/internal/render"
	"github.com/adroit-run/adroit/pkg/cli/internal/viewer"
)

func newLogs(e *env.Env) *cobra.Command {
	var asJSON bool
	var o adroit.EventOptions
	cmd := &cobra.Command{
		Use:     "logs ID",
		Short:   "Print a job's events; -f follows it",
		Example: "  adroit jobs logs last -f",
		Args:    cobra.ExactArgs(1),
		RunE: e.With(func(ctx context.Context, c adroit.Client, args []string) error {
			id := args[0]
			v := viewer.NewLog(e.OutScreen())
			for ev, err := range c.Events(ctx, id, o) {
				switch {
				case err != nil && ctx.Err() != nil:
					return exit.Stopped(ctx)
				case err != nil:
					return err
				case asJSON:
					render.Event(e.Out, ev)
				default:
					v.Log(ev)
				}
				id = ev.Job
			}
			if ctx.Err() != nil {
				return exit.Stopped(ctx)
			}
			d, err := c.Job(ctx, id)
			if err != nil {
				return err
			}
			for _, r := range d.Changes.Incomplete {
				fmt.Fprintf(e.Err, "incomplete: %s\n", format.SanitizeLine(r))
			}
			return nil
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one event a line, as JSON")
	cmd.Flags().BoolVarP(&o.Follow, "follow", "f", false, "follow until the job stops")
	cmd.Flags().Int64Var(&o.After, "after", 0, "only events after this number")
	env.AllowZero(cmd.Flags(), "after")
	return cmd
}
