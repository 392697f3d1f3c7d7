package jobcmd

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/cli/internal/show"
)

func newLogs(e *kit.Env) *cobra.Command {
	var asJSON bool
	var o adroit.EventOptions
	cmd := &cobra.Command{
		Use:     "logs ID",
		Short:   "Print a job's events; -f follows it",
		Example: "  adroit jobs logs last -f",
		Args:    cobra.ExactArgs(1),
		RunE: e.With(func(ctx context.Context, c adroit.Client, args []string) error {
			id := args[0]
			v := show.NewLog(e.OutScreen())
			for ev, err := range c.Events(ctx, id, o) {
				switch {
				case err != nil && ctx.Err() != nil:
					return kit.Stopped(ctx)
				case err != nil:
					return err
				case asJSON:
					show.Event(e.Out, ev)
				default:
					v.Log(ev)
				}
				id = ev.Job
			}
			if ctx.Err() != nil {
				return kit.Stopped(ctx)
			}
			d, err := c.Job(ctx, id)
			if err != nil {
				return err
			}
			for _, r := range d.Changes.Incomplete {
				fmt.Fprintf(e.Err, "incomplete: %s\n", kit.SanitizeLine(r))
			}
			return nil
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one event a line, as JSON")
	cmd.Flags().BoolVarP(&o.Follow, "follow", "f", false, "follow until the job stops")
	cmd.Flags().Int64Var(&o.After, "after", 0, "only events after this number")
	kit.AllowZero(cmd.Flags(), "after")
	return cmd
}
