package cli

import (
	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/pkg/cli/internal/exit"
)

// localCommands work with the files of this machine, not with a client.
var localCommands = map[string]bool{
	"adroit backup": true, "adroit restore": true, "adroit demo": true, "adroit bench": true, "adroit init": true, "adroit login": true, "adroit logout": true,
	"adroit config": true, "adroit serve": true, "adroit mcp add": true, "adroit mcp remove": true, "adroit mcp login": true, "adroit mcp logout": true,
}

// looking are the commands that only look at jobs: they work although the configuration
// has faults.
var looking = map[string]bool{
	"adroit jobs": true, "adroit jobs show": true, "adroit jobs logs": true, "adroit jobs steps": true, "adroit jobs transcript": true,
	"adroit jobs artifacts": true, "adroit jobs diff": true, "adroit jobs graph": true,
}

// stayLocal has local commands ignore ADROIT_SERVER and refuse --server.
func (a *app) stayLocal(cmd *cobra.Command, _ []string) error {
	a.looks = looking[cmd.CommandPath()]
	for c := cmd; c.HasParent(); c = c.Parent() {
		if !localCommands[c.CommandPath()] {
			continue
		}
		if a.local = true; a.server != "" {
			return exit.Usagef("run it where the server is, without --server", "%s works with the files of this machine, not with a server", c.CommandPath())
		}
	}
	return nil
}
