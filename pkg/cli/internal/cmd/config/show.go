package config

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/internal/config"
	"github.com/adroit-run/adroit/pkg/cli/internal/env"
	"github.com/adroit-run/adroit/pkg/cli/internal/format"
)

func newShow(e *env.Env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "show",
		Short:   "List every setting, its value and its origin",
		Example: "  adroit config show --json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			c, err := e.Config()
			if err != nil {
				return err
			}
			return env.Print(e.OutScreen(), asJSON, c.Settings(), func(w io.Writer, list []config.Setting) {
				var t format.Table
				for _, s := range list {
					t.Row(s.Key, s.Value, s.From)
				}
				t.Write(w)
			})
		},
	}
	env.JSONFlag(cmd, &asJSON)
	return cmd
}
