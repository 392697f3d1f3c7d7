package jobcmd

import (
	"cmp"
	"context"
	"fmt"

	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/config"
	"github.com/spf13/cobra"
)

func newPrune(e *kit.Env) *cobra.Command {
	var older string
	var o adroit.PruneOptions
	cmd := &cobra.Command{
		Use:   "prune [--older-than AGE]",
		Short: "Remove jobs that ended long ago",
		Long: "Forgets the jobs that ended longer ago than an age such as 30d or 12h: journal, log and what undo needs.\n" +
			"Without --older-than the age is the setting retention. A job whose worktree has what is\n" +
			"nowhere else (see adroit jobs rm) is kept and named; adroit jobs rm --force removes it. A branch that is not\n" +
			"merged stays.",
		Example: "  adroit jobs prune --older-than 30d --dry-run",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			conf, err := e.Config()
			if err != nil {
				return err
			}
			older := cmp.Or(older, conf.Retention)
			if older == "" {
				return kit.Usagef("for example "+hint.Command("jobs prune --older-than 30d"), "an age is missing: --older-than, or retention in the configuration")
			}
			if o.Age, err = config.ParseAge(older); err != nil {
				return kit.Usagef("for example 30d, 2w or 12h", "--older-than: %v", err)
			}
			c, err := e.Client()
			if err != nil {
				return err
			}
			r, err := c.Prune(cmd.Context(), o)
			if err != nil {
				return err
			}
			for _, id := range r.Removed {
				fmt.Fprintf(e.Out, "%s %s\n", id, map[bool]string{false: "removed", true: "would be removed"}[o.DryRun])
			}
			for _, note := range r.Notes {
				e.Warn("%s", note)
			}
			if len(r.Removed)+len(r.Kept) == 0 {
				fmt.Fprintf(e.Err, "no job ended longer ago than %s\n", older)
			}
			return r.Err()
		},
	}
	cmd.Flags().StringVar(&older, "older-than", "", "the age, as 30d, 2w or 12h")
	cmd.Flags().BoolVar(&o.DryRun, "dry-run", false, "only list them")
	return cmd
}

func newRemove(e *kit.Env) *cobra.Command {
	var o adroit.RemoveOptions
	cmd := &cobra.Command{
		Use:   "rm ID...",
		Short: "Remove jobs: journal, log, worktree and undo data",
		Long: "Forgets jobs. A job's worktree goes too, and its branch if it is merged. What is not committed there,\n" +
			"what the job wrote and git ignores, a commit on no branch, and what a submodule or another repository in it\n" +
			"has and the clone in the repository does not, is an error, unless --force throws it away, with the branch.\n" +
			"So is what a command that was killed has changed and is in no tree yet, and a status of a newer version.\n" +
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
