package jobcmd

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/internal/git/worktree"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/cli/internal/show"
)

func newMerge(e *kit.Env) *cobra.Command {
	var asJSON bool
	var message string
	cmd := &cobra.Command{
		Use:   "merge ID",
		Short: "Merge a job's worktree into the repository's current branch",
		Long: "Commits what is not committed in the job's worktree on the job's branch, then merges that branch into\n" +
			"the one checked out in the repository. No hook runs. If files are in conflict or in the way, they are\n" +
			"listed and nothing is merged.",
		Example: "  adroit jobs merge last",
		Args:    cobra.ExactArgs(1),
		RunE: e.With(func(ctx context.Context, c adroit.Client, args []string) error {
			m, err := c.Merge(ctx, args[0], message)
			if err != nil {
				return err
			}
			if asJSON {
				return kit.JSON(e.Out, worktree.Merged{Into: m.Into, Commit: m.Commit, Paths: m.Paths})
			}
			show.Merge(e.Out, e.Err, m, e.Home)
			return nil
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	cmd.Flags().StringVarP(&message, "message", "m", "", "commit with this message (default the job's title)")
	return cmd
}
