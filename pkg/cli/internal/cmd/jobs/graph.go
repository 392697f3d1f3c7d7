package jobs

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/env"
	"github.com/adroit-run/adroit/pkg/cli/internal/exit"
	"github.com/adroit-run/adroit/pkg/cli/internal/render"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/jobs"
)

func newGraph(e *env.Env) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:     "graph ID",
		Short:   "Draw what a job did, as text or in Mermaid's language",
		Example: "  adroit jobs graph last\n  adroit jobs graph last --format mermaid > job.mmd",
		Args:    cobra.ExactArgs(1),
		RunE: e.With(func(ctx context.Context, c adroit.Client, args []string) error {
			d, err := c.Job(ctx, args[0])
			if err != nil {
				return err
			}
			return graph(ctx, e, c, d.Job, "--format", format)
		}),
	}
	cmd.Flags().StringVar(&format, "format", render.GraphText, "text or mermaid")
	return cmd
}

// graph prints a drawing of what a job did so far.
func graph(ctx context.Context, e *env.Env, c adroit.Client, j *jobs.Job, flag, how string) error {
	if how != render.GraphText && how != render.GraphMermaid {
		return exit.Usagef("it is one of text, mermaid", "%s is %q", flag, how)
	}
	var evs []event.Event
	for ev, err := range c.Events(ctx, j.ID, adroit.EventOptions{}) {
		if err != nil {
			return err
		}
		evs = append(evs, ev)
	}
	d := render.NewGraph(j, evs, e.Rate())
	if how == render.GraphMermaid {
		fmt.Fprint(e.Out, d.Mermaid())
	} else {
		fmt.Fprint(e.Out, d.Text())
	}
	return nil
}
