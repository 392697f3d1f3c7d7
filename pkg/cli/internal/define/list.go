package define

import (
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/tools"
)

// A toolView is a tool as --json prints it.
type toolView struct {
	tools.Metadata
	Input json.RawMessage `json:"input"`
}

func toolsNewList(e *kit.Env) *cobra.Command {
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
			var t kit.Table
			views := []toolView{}
			for tool := range set.All() {
				views = append(views, toolView{tool.Metadata, tool.Input.JSON()})
				t.Row(tool.Name, tool.Category, tool.Needs.String(), kit.FirstSentence(tool.Description))
			}
			if asJSON {
				return kit.JSON(e.Out, views)
			}
			t.Write(e.OutScreen())
			return nil
		},
	}
	kit.JSONFlag(cmd, &asJSON)
	return cmd
}
