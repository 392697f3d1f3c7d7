package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/pkg/cli/internal/exit"
	"github.com/adroit-run/adroit/pkg/cli/internal/render"
	"github.com/adroit-run/adroit/pkg/jobs"
)

func (a *app) jobsResume() *cobra.Command {
	var asJSON, detach bool
	var more limitFlags
	cmd := &cobra.Command{
		Use:   "resume ID",
		Short: "Resume a job where it stopped",
		Long: "Resumes a job where it stopped. Finished steps are recalled from the journal, not repeated. Of a job that failed,\n" +
			"the step that failed is tried again, with what depends on it: a sub-agent, a branch, a pipeline's step. A job\n" +
			"that a limit stopped goes on with a higher one; one that was stuck goes on after you changed something. A job\n" +
			"that is done or was cancelled does not go on: adroit jobs retry runs its task again.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			j, err := a.job(ctx, args[0])
			if err != nil {
				return err
			}
			m, err := a.manager(ctx)
			if err != nil {
				return err
			}
			if q, err := pending(ctx, a.db, j.ID); err != nil {
				return err
			} else if j.Status == jobs.Waiting && q != nil && !a.asks() && !q.Over(a.now()) {
				return &exit.Error{Code: exit.Waiting, Err: fmt.Errorf("%s still waits for a person: %s", j.ID, render.QuestionLine(q)),
					Hint: fmt.Sprintf("adroit signal %s approve, or deny; then adroit jobs resume %s", j.ID, j.ID)}
			}
			if j.Status == jobs.Running {
				return a.runFault(j.ID, fmt.Errorf("%s: %w", j.ID, jobs.ErrHeld))
			}
			if err := more.check(a, j); err != nil {
				return err
			}
			if detach {
				return a.detach(ctx, j, more.args()...)
			}
			if !asJSON {
				a.header(ctx, j, 0)
			}
			return a.driveOn(ctx, m, j, more.limits(), asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print events as JSON, one a line")
	cmd.Flags().BoolVarP(&detach, "detach", "d", false, "resume in the background")
	more.add(cmd.Flags())
	return cmd
}

func (a *app) jobsRetry() *cobra.Command {
	var asJSON, detach bool
	cmd := &cobra.Command{
		Use:   "retry ID",
		Short: "Run a job's task again from the start, as a new job",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			old, err := a.job(ctx, args[0])
			if err != nil {
				return err
			}
			m, err := a.manager(ctx)
			if err != nil {
				return err
			}
			rt, err := a.runtime()
			if err != nil {
				return err
			}
			again, err := rt.Retry(ctx, old.ID)
			if err != nil {
				return err
			}
			j := again.Job
			a.worktreeBegins(again.Worktree)
			if detach {
				return a.detach(ctx, j)
			}
			if !asJSON {
				a.header(ctx, j, 0)
			}
			return a.drive(ctx, m, j, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print events as JSON, one a line")
	cmd.Flags().BoolVarP(&detach, "detach", "d", false, "run it in the background")
	return cmd
}

// job finds the one job that ref means.
func (a *app) job(ctx context.Context, ref string) (*jobs.Job, error) {
	c, err := a.client()
	if err != nil {
		return nil, err
	}
	d, err := c.Job(ctx, ref)
	if err != nil {
		return nil, err
	}
	return d.Job, nil
}
