package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/pkg/adroit"
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

func (a *app) jobsCancel() *cobra.Command {
	return &cobra.Command{
		Use:   "cancel ID",
		Short: "Cancel a job, even in another process, and wait until it has stopped",
		Long: "Cancels a job, even one that another process runs, and waits until it has stopped. A cancelled job cannot be\n" +
			"resumed: adroit jobs retry runs its task again from the start. To stop a job and resume it later, interrupt its\n" +
			"process with Ctrl-C or SIGTERM.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			c, err := a.client()
			if err != nil {
				return err
			}
			j, err := c.Cancel(ctx, args[0])
			if err != nil {
				return err
			}
			next := "logs"
			if a.changed(j.ID) {
				next = "undo"
			}
			fmt.Fprintf(a.Stdout, "%s cancelled    adroit jobs %s %s\n", j.ID, next, j.ID)
			return nil
		},
	}
}

func (a *app) jobsRemove() *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "rm ID...",
		Short: "Remove jobs: journal, log, worktree and undo data",
		Long: "Forgets jobs. A job's worktree goes too, and its branch if it is merged. What is not committed there\n" +
			"is an error, unless --force throws it away, with the branch. The worktrees of its sub-agents go with\n" +
			"what was not brought back of them.",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			c, err := a.client()
			if err != nil {
				return err
			}
			for _, ref := range args {
				j, err := c.Remove(ctx, ref, adroit.RemoveOptions{Force: force})
				if err != nil {
					return err
				}
				fmt.Fprintf(a.Stdout, "%s removed\n", j.ID)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "also throw away what is not committed or merged in a job's worktree")
	return cmd
}
