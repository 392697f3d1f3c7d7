package jobcmd

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
)

func newRemove(e *kit.Env) *cobra.Command {
	var o adroit.RemoveOptions
	cmd := &cobra.Command{
		Use:   "rm ID...",
		Short: "Remove jobs: journal, log, worktree and undo data",
		Long: "Forgets jobs. A job's worktree goes too, and its branch if it is merged. What is not committed there,\n" +
			"what the job wrote and git ignores, a commit on no branch, and what a submodule or another repository in it\n" +
			"has and the clone in the repository does not, is an error, unless --force throws it away, with the branch.\n" +
			"So is what a command that was killed has changed and is in no tree yet.\n" +
			"The worktrees of its sub-agents go with what was not brought back of them.",
		Example: "  adroit jobs rm J4K2 J7QX",
		Args:    cobra.MinimumNArgs(1),
		RunE: e.With(func(ctx context.Context, c adroit.Client, args []string) error {
			for _, ref := range args {
				j, err := c.Remove(ctx, ref, o)
				if err != nil {
					return err
				}
				fmt.Fprintf(e.Out, "%s removed\n", j.ID)
				for _, note := range j.Notes {
					e.Warn("%s", note)
				}
			}
			return nil
		}),
	}
	cmd.Flags().BoolVar(&o.Force, "force", false, "also throw away what is not committed or merged in a job's worktree")
	return cmd
}
