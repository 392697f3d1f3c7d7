package machine

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/config"
)

func newPath(e *kit.Env) *cobra.Command {
	return &cobra.Command{
		Use:     "path",
		Short:   "Print the path of the configuration file",
		Example: "  $EDITOR \"$(adroit config path)\"",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			p := config.Path(e.Getenv)
			if p == "" {
				return kit.Fail(errors.New("there is no home directory to keep a configuration in"), "set HOME or ADROIT_CONFIG")
			}
			fmt.Fprintln(e.Out, p)
			return nil
		},
	}
}
