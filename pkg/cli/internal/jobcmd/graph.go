package jobcmd

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/cli/internal/show"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/jobs"
)

func newGraph(e *kit.Env) *cobra.Command {
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
	cmd.Flags().StringVar(&how, "format", show.Text, "text or mermaid")
	return cmd
}

// draw prints a drawing of what a job did so far.
func draw(ctx context.Context, e *kit.Env, c adroit.Client, j *jobs.Job, flag, how string) error {
	if how != show.Text && how != show.Mermaid {
		return kit.Usagef("it is one of text, mermaid", "%s is %q", flag, how)
	}
	var evs []event.Event
	for ev, err := range c.Events(ctx, j.ID, adroit.EventOptions{}) {
		if err != nil {
			return err
		}
		evs = append(evs, ev)
	}
	d := show.New(j, evs, e.Rate())
	if how == show.Mermaid {
		fmt.Fprint(e.Out, d.Mermaid())
	} else {
		fmt.Fprint(e.Out, d.Text())
	}
	return nil
}
