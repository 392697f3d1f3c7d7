package jobcmd

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/cli/internal/show"
)

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
