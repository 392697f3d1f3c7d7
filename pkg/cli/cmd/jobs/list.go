package jobs

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/env"
	"github.com/adroit-run/adroit/pkg/cli/internal/exit"
	"github.com/adroit-run/adroit/pkg/cli/internal/render"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// listed is how many jobs adroit jobs lists.
const listed = 100

func newList(e *env.Env, use string) *cobra.Command {
	o := adroit.ListOptions{Limit: listed}
	cmd := &cobra.Command{
		Use:   use,
		Short: "List jobs, newest first",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Limit < 0 {
				return exit.Usagef("0 lists all jobs", "--limit is %d", o.Limit)
			}
			if o.Full && !cmd.Flags().Changed("limit") {
				o.Limit = 0
			}
			return list(cmd, e, o)
		},
	}
	cmd.Flags().BoolVar(&o.Full, "json", false, "as JSON")
	cmd.Flags().StringVar(&o.Agent, "agent", "", "only jobs of this agent")
	cmd.Flags().IntVar(&o.Limit, "limit", listed, "list at most this many jobs, the newest; 0 lists all, as --json does")
	return cmd
}

func list(cmd *cobra.Command, e *env.Env, o adroit.ListOptions) error {
	c, err := e.Client()
	if err != nil {
		return err
	}
	limit := o.Limit
	if limit > 0 {
		o.Limit++ // whether there are more
	}
	all, err := c.Jobs(cmd.Context(), o)
	if err != nil {
		return err
	}
	if limit > 0 && len(all) > limit {
		all = all[:limit]
		defer fmt.Fprintf(e.Err, "these are the newest %s jobs; --limit 0 lists all\n", render.Count(limit))
	}
	if o.Full {
		list := []*jobs.Job{}
		for _, j := range all {
			list = append(list, j.Job)
		}
		return render.JSON(e.Out, list)
	}
	if len(all) == 0 {
		fmt.Fprintln(e.Err, "no jobs yet; adroit run AGENT PROMPT starts one")
	}
	render.Jobs(e.Out, all, e.Now())
	return nil
}
