package tools

import (
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/pkg/cli/internal/env"
	"github.com/adroit-run/adroit/pkg/cli/internal/format"
	"github.com/adroit-run/adroit/pkg/tools"
)

// A toolView is a tool as --json prints it.
type toolView struct {
	tools.Metadata
	Input json.RawMessage `json:"input"`
}

func newList(e *env.Env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the tools of this program",
		Example: "  adroit tools list",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			set, err := e.Tools()
			if err != nil {
				return err
			}
			var t format.Table
			views := []toolView{}
			for tool := range set.All() {
				views = append(views, toolView{tool.Metadata, tool.Input.JSON()})
				t.Row(tool.Name, tool.Category, tool.Needs.String(), format.FirstSentence(tool.Description))
			}
			if asJSON {
				return format.JSON(e.Out, views)
			}
			t.Write(e.OutScreen())
			return nil
		},
	}
	env.JSONFlag(cmd, &asJSON)
	return cmd
}
