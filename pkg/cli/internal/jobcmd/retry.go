package jobcmd

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/cli/internal/request"
)

func newRetry(e *kit.Env) *cobra.Command {
	var asJSON, deltas, detach bool
	var o adroit.StartOptions
	var r adroit.RetryOptions
	cmd := &cobra.Command{
		Use:   "retry ID [MESSAGE]",
		Short: "Run a job's task again, as a new job",
		Long: "Runs the task of a job again from the start. With --from TURN the new job has the\n" +
			"conversation as it was at the end of that turn, which adroit jobs transcript\n" +
			"numbers, and MESSAGE behind it. With --carry-out it carries out the plan with which\n" +
			"a job in mode plan ended, and is done when all of the agent's definition of done\n" +
			"holds. The files are as they are now: adroit jobs undo takes back what the old job\n" +
			"did. The old job stays as it is.",
		Example: "  adroit jobs retry J4K2\n  adroit jobs retry J4K2 --from 3 \"use a map instead\"\n  adroit jobs retry J4K2 -m ollama/qwen3:8b\n  adroit jobs retry last --carry-out",
		Args:    cobra.MinimumNArgs(1),
		RunE: e.With(func(ctx context.Context, c adroit.Client, args []string) error {
			if r.Message = strings.Join(args[1:], " "); r.Message != "" {
				r.Attached = request.Attached(r.Message, "")
			}
			r.Model = request.Script(r.Model)
			again, err := c.Retry(ctx, args[0], r)
			if err != nil {
				return err
			}
			if r.From > 0 {
				fmt.Fprintf(e.Err, "goes on from turn %d of %s, with the files as they are now\n", r.From, args[0])
			}
			if r.CarryOut {
				fmt.Fprintf(e.Err, "carries out the plan of %s, with the files as they are now\n", args[0])
			}
			request.Begins(e, again)
			if detach {
				return request.Detach(ctx, e, c, again.Job.ID, o)
			}
			return request.Run(ctx, e, c, again.Job.ID, request.Options{StartOptions: o, JSON: asJSON || deltas, Deltas: deltas})
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print events as JSON, one a line")
	cmd.Flags().BoolVar(&deltas, "deltas", false, "--json, with the pieces of responses as they come (kind delta), which are not kept")
	request.AtOnce(cmd.Flags(), &o)
	cmd.Flags().StringVarP(&r.Model, "model", "m", "", "do it with this model instead of the old job's")
	cmd.Flags().IntVar(&r.From, "from", 0, "go on from the end of this turn")
	cmd.Flags().BoolVar(&r.CarryOut, "carry-out", false, "carry out the plan that the job ended with")
	cmd.Flags().StringVar((*string)(&r.Mode), "mode", "", "of --from and --carry-out: edits, auto, and plan with --from; the configured one if left out")
	cmd.Flags().BoolVarP(&detach, "detach", "d", false, "run it in the background")
	return cmd
}
