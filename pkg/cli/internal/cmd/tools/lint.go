package tools

import (
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/internal/requirement"
	"github.com/adroit-run/adroit/pkg/cli/internal/env"
	"github.com/adroit-run/adroit/pkg/cli/internal/exit"
	"github.com/adroit-run/adroit/pkg/cli/internal/format"
	"github.com/adroit-run/adroit/pkg/tools"
)

func newLint(e *env.Env) *cobra.Command {
	return &cobra.Command{
		Use:     "lint",
		Short:   "Check this program's tools and what they require of this machine",
		Example: "  adroit tools lint",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			set, err := tools.NewSet(e.Own...)
			if err != nil {
				fmt.Fprintln(e.Out, format.Sanitize(err.Error()))
				return exit.With(exit.Failed)
			}
			missing := requirement.Missing(set, requirement.OnPath)
			for _, name := range slices.Sorted(maps.Keys(missing)) {
				fmt.Fprintf(e.Out, "warning: %s\n", format.SanitizeLine(missing[name].Error()))
			}
			fmt.Fprintf(e.Out, "%s, no errors, %s\n", format.Plural(set.Len(), "tool"), format.Plural(len(missing), "warning"))
			return nil
		},
	}
}
