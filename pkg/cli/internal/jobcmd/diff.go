package jobcmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/cli/internal/show"
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
			"Lines that begin with # name branches, tags and HEAD that it moved, and its commits, with files in them that\nthe work tree does not show.",
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
			show.Refs(e.Out, d)
			if !about.Uncertain && show.Uncertain(e.Out, d.Changes) {
				fmt.Fprintf(e.Err, "%s shows what is uncertain as well\n", hint.Command("jobs diff %s --include-uncertain", d.Job))
			} else if d.Diff == "" && len(d.Refs) == 0 {
				fmt.Fprintf(e.Err, "%s changed nothing\n", d.Job)
			}
			return incomplete(e, d.Incomplete)
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON, with the list of changed files")
	selectionFlags(&about, cmd.Flags())
	return cmd
}
