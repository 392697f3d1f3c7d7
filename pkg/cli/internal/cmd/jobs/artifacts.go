package jobs

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/internal/hint"
	"github.com/adroit-run/adroit/internal/spelling"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/env"
	"github.com/adroit-run/adroit/pkg/cli/internal/exit"
	"github.com/adroit-run/adroit/pkg/cli/internal/format"
	"github.com/adroit-run/adroit/pkg/cli/internal/render"
	"github.com/adroit-run/adroit/pkg/cli/internal/term"
)

func newArtifacts(e *env.Env) *cobra.Command {
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
				return format.JSON(e.Out, list.Artifacts)
			case len(list.Artifacts) == 0:
				fmt.Fprintf(e.Err, "%s has produced nothing so far\n", list.Job)
			}
			render.Artifacts(e.Out, list)
			return nil
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	return cmd
}

func artifact(e *env.Env, list *adroit.ArtifactList, name string, asJSON bool) error {
	a, ok := list.Artifacts[name]
	if !ok {
		help := hint.Command("jobs artifacts %s", list.Job) + " lists them"
		if n := spelling.Nearest(name, slices.Sorted(maps.Keys(list.Artifacts))); n != "" {
			help = fmt.Sprintf("did you mean %q?", n)
		}
		return exit.Fail(fmt.Errorf("%s has no artifact %q", list.Job, name), help)
	}
	if asJSON {
		return format.JSON(e.Out, a.Value)
	}
	return render.Artifact(term.NewScreen(e.Out, e.Getenv), a)
}
