package config

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/internal/config"
	"github.com/adroit-run/adroit/pkg/cli/internal/env"
	"github.com/adroit-run/adroit/pkg/cli/internal/exit"
)

func newPath(e *env.Env) *cobra.Command {
	return &cobra.Command{
		Use:     "path",
		Short:   "Print the path of the configuration file",
		Example: "  $EDITOR \"$(adroit config path)\"",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			p := config.Path(e.Getenv)
			if p == "" {
				return exit.Fail(errors.New("there is no home directory to keep a configuration in"), "set HOME or ADROIT_CONFIG")
			}
			fmt.Fprintln(e.Out, p)
			return nil
		},
	}
}
