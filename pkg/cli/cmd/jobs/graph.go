package jobs

import (
	"context"
	"fmt"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/env"
	"github.com/adroit-run/adroit/pkg/cli/internal/exit"
	"github.com/adroit-run/adroit/pkg/cli/internal/render"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// graph prints a drawing of what a job did so far.
func graph(ctx context.Context, e *env.Env, c adroit.Client, j *jobs.Job, how string) error {
	if how != render.GraphText && how != render.GraphMermaid {
		return exit.Usagef("it is one of text, mermaid", "--graph is %q", how)
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
