package jobs

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/env"
	"github.com/adroit-run/adroit/pkg/cli/internal/exit"
	"github.com/adroit-run/adroit/pkg/cli/internal/graph"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/jobs"
)

func newGraph(e *env.Env) *cobra.Command {
	var how string
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
			return draw(ctx, e, c, d.Job, "--format", how)
		}),
	}
	cmd.Flags().StringVar(&how, "format", graph.Text, "text or mermaid")
	return cmd
}

// draw prints a drawing of what a job did so far.
func draw(ctx context.Context, e *env.Env, c adroit.Client, j *jobs.Job, flag, how string) error {
	if how != graph.Text && how != graph.Mermaid {
		return exit.Usagef("it is one of text, mermaid", "%s is %q", flag, how)
	}
	var evs []event.Event
	for ev, err := range c.Events(ctx, j.ID, adroit.EventOptions{}) {
		if err != nil {
			return err
		}
		evs = append(evs, ev)
	}
	d := graph.New(j, evs, e.Rate())
	if how == graph.Mermaid {
		fmt.Fprint(e.Out, d.Mermaid())
	} else {
		fmt.Fprint(e.Out, d.Text())
	}
	return nil
}
