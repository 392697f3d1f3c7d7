package define

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/internal/mcp"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
)

func mcpNewList(e *kit.Env) *cobra.Command {
	var asJSON bool
	var dir string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the MCP servers and what is known of them",
		Long: "Lists the servers of the configuration, those that adroit mcp add has added, and those of\n" +
			"the .mcp.json of this directory if it is trusted. Nothing is started.",
		Example: "  adroit mcp list",
		Args:    cobra.NoArgs,
		RunE: e.With(func(ctx context.Context, c adroit.Client, _ []string) error {
			root, err := kit.Directory(dir)
			if err != nil {
				return err
			}
			l, err := c.ToolServers(ctx, adroit.Scope{Dir: root})
			if err != nil {
				return err
			}
			if err := kit.Print(e.OutScreen(), asJSON, l.Items, printServers); err != nil || asJSON {
				return err
			}
			offerImport(e, root, l.Items)
			return nil
		}),
	}
	kit.JSONFlag(cmd, &asJSON)
	cmd.Flags().StringVarP(&dir, "dir", "C", ".", "with the servers of the project in this directory")
	return cmd
}

func printServers(w io.Writer, list []adroit.ToolServerInfo) {
	if len(list) == 0 {
		fmt.Fprintln(w, "There are no MCP servers. "+hint.Command("mcp add NAME -- COMMAND")+" adds one.")
		return
	}
	var t kit.Table
	for _, s := range list {
		state := s.State
		if s.State != "configured" {
			state += ", " + kit.Plural(s.Tools, "tool")
		}
		if s.Pending > 0 {
			state += fmt.Sprintf(", %d changed or new", s.Pending)
		}
		if s.LoggedIn {
			state += ", logged in"
		}
		if s.Source == "project" {
			state += " (project)"
		}
		t.Row(s.Name, s.Transport, state, kit.SanitizeLine(s.Target))
	}
	t.Write(w)
}

// offerImport says which servers other programs have.
func offerImport(e *kit.Env, dir string, have []adroit.ToolServerInfo) {
	for _, source := range mcp.Sources {
		found, err := mcp.Others(source, dir, e.Getenv)
		if err != nil {
			e.Warn("%v", err)
			continue
		}
		maps.DeleteFunc(found, func(name string, _ mcp.Server) bool {
			return slices.ContainsFunc(have, func(s adroit.ToolServerInfo) bool { return s.Name == name })
		})
		if len(found) > 0 {
			fmt.Fprintf(e.Err, "%s has %s; %s adds them\n", source, strings.Join(slices.Sorted(maps.Keys(found)), ", "), hint.Command("mcp add --from %s", source))
		}
	}
}
