package machine

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/config"
)

func newShow(e *kit.Env) *cobra.Command {
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
			return kit.Print(e.OutScreen(), asJSON, c.Settings(), func(w io.Writer, list []config.Setting) {
				var t kit.Table
				for _, s := range list {
					t.Row(s.Key, s.Value, s.From)
				}
				t.Write(w)
			})
		},
	}
	kit.JSONFlag(cmd, &asJSON)
	return cmd
}
