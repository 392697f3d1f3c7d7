package define

import (
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/tools"
)

func newLint(e *kit.Env) *cobra.Command {
	return &cobra.Command{
		Use:     "lint",
		Short:   "Check this program's tools and what they require of this machine",
		Example: "  adroit tools lint",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			set, err := tools.NewSet(e.Own...)
			if err != nil {
				fmt.Fprintln(e.Out, kit.Sanitize(err.Error()))
				return kit.With(kit.Failed)
			}
			missing := tools.Missing(set, tools.OnPath)
			for _, name := range slices.Sorted(maps.Keys(missing)) {
				fmt.Fprintf(e.Out, "warning: %s\n", kit.SanitizeLine(missing[name].Error()))
			}
			fmt.Fprintf(e.Out, "%s, no errors, %s\n", kit.Plural(set.Len(), "tool"), kit.Plural(len(missing), "warning"))
			return nil
		},
	}
}
