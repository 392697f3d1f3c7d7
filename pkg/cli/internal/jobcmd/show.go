package jobcmd

import (
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/cli/internal/show"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// A detailView is a job as --json prints it.
type detailView struct {
	*jobs.Job
	Final   *jobs.Final       `json:"final,omitempty"`
	Parts   []jobs.Part       `json:"parts,omitempty"`
	Pending *jobs.Question    `json:"pending,omitempty"`
	Trees   []adroit.KeptTree `json:"worktrees,omitempty"`
	Queue   int               `json:"queue,omitempty"`
	Todo    json.RawMessage   `json:"todo,omitempty"`
}

func newShow(e *kit.Env) *cobra.Command {
	var asJSON bool
	var how string
	cmd := &cobra.Command{
		Use:     "show ID",
		Short:   "Show a job's status, the reason, and what to do next",
		Example: "  adroit jobs show last\n  adroit jobs show last --json",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := e.Client()
			if err != nil {
				return err
			}
			d, err := c.Job(cmd.Context(), args[0])
			switch {
			case err != nil:
				return err
			case cmd.Flags().Changed("graph"):
				return draw(cmd.Context(), e, c, d.Job, "--graph", how)
			case asJSON:
				v := detailView{Job: d.Job, Final: d.Final, Parts: d.Usage.Parts, Trees: d.Trees, Queue: d.Queue, Todo: d.Todo}
				if len(d.Questions) > 0 {
					v.Pending = &d.Questions[0]
				}
				return kit.JSON(e.Out, v)
			}
			show.Job(e.OutScreen(), d, e.Home)
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON, with input and output")
	cmd.Flags().StringVar(&how, "graph", "", "draw what ran: --graph or --graph=mermaid; see jobs graph")
	cmd.Flags().Lookup("graph").NoOptDefVal = show.Text
	cmd.MarkFlagsMutuallyExclusive("json", "graph")
	return cmd
}
