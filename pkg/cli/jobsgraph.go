package cli

import (
	"context"
	"fmt"

	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// showGraph prints a drawing of what a job did so far.
func (a *app) showGraph(ctx context.Context, j *jobs.Job, how string) error {
	if how != graphText && how != graphMermaid {
		return usage("it is one of text, mermaid", "--graph is %q", how)
	}
	var evs []event.Event
	for ev, err := range a.db.Events(ctx, j.ID, 0, false) {
		if err != nil {
			return err
		}
		evs = append(evs, ev)
	}
	d := drawing(j, evs, a.rate())
	if how == graphMermaid {
		fmt.Fprint(a.Stdout, d.mermaid())
	} else {
		fmt.Fprint(a.Stdout, d.text())
	}
	return nil
}
