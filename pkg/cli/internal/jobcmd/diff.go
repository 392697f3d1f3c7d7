package jobcmd

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/adroit-run/adroit/internal/git/worktree"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/work/ledger"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/cli/internal/show"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// selectionFlags adds the flags that select changes.
func selectionFlags(s *adroit.Selection, f *pflag.FlagSet) {
	f.StringVar(&s.Step, "step", "", "only what this step changed; adroit jobs steps lists them")
	f.StringVar(&s.From, "from", "", "what this step and all later ones changed")
	f.BoolVar(&s.Uncertain, "include-uncertain", false, "also what changed while a command ran, which may be somebody else's work")
}

func newDiff(e *kit.Env) *cobra.Command {
	var asJSON bool
	var about adroit.Selection
	cmd := &cobra.Command{
		Use:   "diff ID",
		Short: "Show what a job changed, and nothing else",
		Long: "Show what a job changed, and nothing else. Into a pipe or a file it is what git apply takes, binary files included,\nwith the names from the top of the repository as git diff has them.\n" +
			"Lines that begin with # name directories, branches, tags and HEAD that it changed, and its commits, with files in\nthem that the work tree does not show.\n" +
			"In JSON, a name that is not UTF-8 or begins with a quotation mark is quoted as git quotes it: \"caf\\351\".",
		Example: "  adroit jobs diff last | git apply --check -R\n  adroit jobs diff last --step 3.1",
		Args:    cobra.ExactArgs(1),
		RunE: e.With(func(ctx context.Context, c adroit.Client, args []string) error {
			out := kit.NewScreen(e.Out, e.Getenv)
			about.Patch = asJSON || !out.IsTerminal()
			d, err := c.Diff(ctx, args[0], about)
			if err != nil {
				return err
			}
			if asJSON {
				return errors.Join(kit.JSON(e.Out, d), incomplete(e, d.Incomplete))
			}
			show.Diff(out, d.Diff)
			show.Dirs(e.Out, d.Dirs)
			show.Refs(e.Out, d)
			if !about.Uncertain && show.Uncertain(e.Out, d.Changes) {
				fmt.Fprintf(e.Err, "%s shows what is uncertain as well\n", hint.Command("jobs diff %s --include-uncertain", d.Job))
			} else if d.Diff == "" && len(d.Refs)+len(d.Dirs)+len(d.Incomplete) == 0 {
				fmt.Fprintf(e.Err, "%s changed nothing\n", d.Job)
			}
			return incomplete(e, d.Incomplete)
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON, with the list of changed files")
	selectionFlags(&about, cmd.Flags())
	return cmd
}

// incomplete prints why a job's record is not complete. If it is not, that is
// the exit code, too.
func incomplete(e *kit.Env, reasons []string) error {
	for _, r := range reasons {
		fmt.Fprintf(e.Err, "incomplete: %s\n", kit.SanitizeLine(r))
	}
	if len(reasons) > 0 {
		return kit.With(kit.Failed)
	}
	return nil
}

func newSteps(e *kit.Env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "steps ID",
		Short: "List the steps of a job that changed files",
		Long: "Lists the steps that changed files, as jobs diff and jobs undo take them with --step and --from.\n" +
			"An undo is a step too, and can be undone. Uncertain is what changed while a command ran and may be somebody\n" +
			"else's work: diff and undo leave it out, unless --include-uncertain is given.",
		Example: "  adroit jobs steps last",
		Args:    cobra.ExactArgs(1),
		RunE: e.With(func(ctx context.Context, c adroit.Client, args []string) error {
			list, err := c.Steps(ctx, args[0])
			switch {
			case err != nil:
				return err
			case asJSON:
				return errors.Join(kit.JSON(e.Out, list.Steps), incomplete(e, list.Incomplete))
			case len(list.Steps) == 0 && len(list.Incomplete) == 0:
				fmt.Fprintf(e.Err, "%s changed nothing\n", list.Job)
				return nil
			}
			show.Steps(e.Out, list.Steps)
			return incomplete(e, list.Incomplete)
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	return cmd
}

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

func newArtifacts(e *kit.Env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "artifacts ID [NAME]",
		Short:   "List what a job produced, or print one artifact",
		Example: "  adroit jobs artifacts last\n  adroit jobs artifacts last findings --json",
		Args:    cobra.RangeArgs(1, 2),
		RunE: e.With(func(ctx context.Context, c adroit.Client, args []string) error {
			list, err := c.Artifacts(ctx, args[0])
			switch {
			case err != nil:
				return err
			case len(args) == 2:
				return artifact(e, list, args[1], asJSON)
			case asJSON:
				return kit.JSON(e.Out, list.Artifacts)
			case len(list.Artifacts) == 0:
				fmt.Fprintf(e.Err, "%s has produced nothing so far\n", list.Job)
			}
			show.Artifacts(e.Out, list)
			return nil
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	return cmd
}

func artifact(e *kit.Env, list *adroit.ArtifactList, name string, asJSON bool) error {
	a, ok := list.Artifacts[name]
	if !ok {
		help := hint.Command("jobs artifacts %s", list.Job) + " lists them"
		if n := spelling.Nearest(name, slices.Sorted(maps.Keys(list.Artifacts))); n != "" {
			help = fmt.Sprintf("did you mean %q?", n)
		}
		return kit.Fail(fmt.Errorf("%s has no artifact %q", list.Job, name), help)
	}
	if asJSON {
		return kit.JSON(e.Out, a.Value)
	}
	return show.Artifact(kit.NewScreen(e.Out, e.Getenv), a)
}

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
