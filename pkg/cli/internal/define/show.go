package define

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/tools"
)

func toolsNewShow(e *kit.Env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "show NAME",
		Short:   "Show a tool: what it does, takes and needs",
		Example: "  adroit tools show edit_file",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			t, err := Lookup(e, args[0])
			if err != nil {
				return err
			}
			if asJSON {
				return kit.JSON(e.Out, toolView{t.Metadata, t.Input.JSON()})
			}
			one, err := tools.NewSet(t)
			if err != nil {
				return err
			}
			fmt.Fprintln(e.Out, strings.TrimSpace(kit.Sanitize(one.Describe(nil))))
			var rows kit.Table
			rows.Row("needs", t.Needs.String())
			rows.Row("effect", string(t.Safe()))
			for _, l := range []struct {
				label string
				names []string
			}{{"requires", t.Requires}, {"consumes", t.Consumes}, {"uses", t.Uses}, {"produces", t.Produces}} {
				if len(l.names) > 0 {
					rows.Row(l.label, strings.Join(l.names, ", "))
				}
			}
			fmt.Fprintln(e.Out)
			rows.Write(e.Out)
			return nil
		},
	}
	kit.JSONFlag(cmd, &asJSON)
	return cmd
}
