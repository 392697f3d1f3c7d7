package jobcmd

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/cli/internal/request"
	"github.com/adroit-run/adroit/pkg/cli/internal/show"
	"github.com/adroit-run/adroit/pkg/jobs"
)

func newResume(e *kit.Env) *cobra.Command {
	var asJSON, deltas, detach bool
	var o adroit.StartOptions
	cmd := &cobra.Command{
		Use:   "resume ID",
		Short: "Resume a job where it stopped",
		Long: "Resumes a job where it stopped. Finished steps are recalled from the journal, not repeated. Of a job that failed,\n" +
			"the step that failed is tried again, with what depends on it: a sub-agent, a branch, a pipeline's step. A job\n" +
			"that a limit stopped goes on with a higher one; one that was stuck goes on after you changed something. A job\n" +
			"that is done or was cancelled does not go on: adroit jobs retry runs its task again.",
		Example: "  adroit jobs resume last --max-turns 80",
		Args:    cobra.ExactArgs(1),
		RunE: e.With(func(ctx context.Context, c adroit.Client, args []string) error {
			d, err := c.Job(ctx, args[0])
			if err != nil {
				return err
			}
			if err := waitingError(e, d); err != nil {
				return err
			}
			if !detach {
				return request.Run(ctx, e, c, d.Job.ID, request.Options{StartOptions: o, JSON: asJSON || deltas, Deltas: deltas})
			}
			check := o
			check.DryRun = true
			if _, err := c.Start(ctx, d.Job.ID, check); err != nil {
				return request.StartError(err)
			}
			return request.Detach(ctx, e, c, d.Job.ID, o)
		}),
	}
	f := cmd.Flags()
	f.BoolVar(&asJSON, "json", false, "print events as JSON, one a line")
	f.BoolVar(&deltas, "deltas", false, "--json, with the pieces of responses as they come (kind delta), which are not kept")
	request.AtOnce(f, &o)
	f.BoolVarP(&detach, "detach", "d", false, "resume in the background")
	request.Limits(f, &o.Limits, request.LimitText{Turns: "go on past the limit of model calls, up to this many for the agent that was stopped",
		Tokens: "go on past the limit of tokens, up to this many for the whole job", Cost: "go on past the limit of money, up to this many USD for the whole job",
		Time: "go on past the time limit, up to this much for the whole job"})
	request.Start(f, &o)
	return cmd
}

// waitingError returns an error if the job waits for a person and nobody can be asked
// here.
func waitingError(e *kit.Env, d *adroit.JobDetail) error {
	if d.Job.Status != jobs.Waiting || len(d.Questions) == 0 || e.Interactive() || d.Questions[0].Over(e.Now()) {
		return nil
	}
	id := d.Job.ID
	if len(d.Questions) > 1 {
		return &kit.Error{Code: kit.Waiting, Err: fmt.Errorf("%s still waits for a person: %d questions", id, len(d.Questions)), Hint: strings.Join(show.Asked(d), "\n")}
	}
	return &kit.Error{Code: kit.Waiting, Err: fmt.Errorf("%s still waits for a person: %s", id, show.QuestionLine(&d.Questions[0])),
		Hint: show.Answers(id, d.Questions[0].Signals[0], "")}
}

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
	cmd.Flags().StringVar((*string)(&r.Mode), "mode", "", "of --carry-out: edits, auto; the configured one if left out")
	cmd.Flags().BoolVarP(&detach, "detach", "d", false, "run it in the background")
	return cmd
}
