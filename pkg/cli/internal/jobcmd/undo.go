package jobcmd

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/internal/work/ledger"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/cli/internal/show"
)

func newUndo(e *kit.Env) *cobra.Command {
	var asJSON bool
	var about adroit.Selection
	cmd := &cobra.Command{
		Use:   "undo ID",
		Short: "Restore the files that a job changed",
		Long: "Gives every file that the job changed its content from before the job, or from before one of its steps, and\n" +
			"moves back the branches, tags and HEAD that its commands moved, and what is staged, where nobody did since.\n" +
			"A file that somebody, or a later step, changed since is left alone and named. What somebody wrote between\n" +
			"two edits of the job stays, or the file is left alone. So is what changed while a command ran and may be\n" +
			"somebody else's work, unless --include-uncertain is given. An undo is a step of the job, and can be\n" +
			"undone by its name: adroit jobs undo ID --step undo.1.",
		Example: "  adroit jobs undo last\n  adroit jobs undo last --step 3.1",
		Args:    cobra.ExactArgs(1),
		RunE: e.With(func(ctx context.Context, c adroit.Client, args []string) error {
			r, err := c.Undo(ctx, args[0], about)
			if err != nil {
				return err
			}
			if asJSON {
				err = kit.JSON(e.Out, ledger.UndoReport{Restored: r.Restored, Removed: r.Removed, Moved: r.Moved, Skipped: r.Skipped, Step: r.Step})
			} else {
				show.Undo(e.Out, e.Err, r)
			}
			if err != nil {
				return err
			}
			show.CommitsKept(e.Err, r.Commits)
			if err := incomplete(e, r.Incomplete); err != nil || len(r.Skipped) == 0 {
				return err
			}
			return kit.With(kit.Failed)
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	selectionFlags(&about, cmd.Flags())
	return cmd
}
