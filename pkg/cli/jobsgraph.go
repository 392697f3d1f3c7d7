package cli

import (
	"context"
	"fmt"

	"github.com/adroit-run/adroit/pkg/cli/internal/exit"
	"github.com/adroit-run/adroit/pkg/cli/internal/render"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// showGraph prints a drawing of what a job did so far.
func (a *app) showGraph(ctx context.Context, j *jobs.Job, how string) error {
	if how != render.GraphText && how != render.GraphMermaid {
		return exit.Usagef("it is one of text, mermaid", "--graph is %q", how)
	}
	var evs []event.Event
	for ev, err := range a.db.Events(ctx, j.ID, 0, false) {
		if err != nil {
			return err
		}
		evs = append(evs, ev)
	}
	d := render.NewGraph(j, evs, a.rate())
	if how == render.GraphMermaid {
		fmt.Fprint(a.Stdout, d.Mermaid())
	} else {
		fmt.Fprint(a.Stdout, d.Text())
	}
	return nil
}
