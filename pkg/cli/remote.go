package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
)

// localCommands work with the files of this machine, not with a client.
var localCommands = map[string]bool{
	"backup": true, "restore": true, "demo": true, "bench": true, "init": true, "login": true, "logout": true,
	"config": true, "serve": true, "mcp add": true, "mcp remove": true, "mcp login": true, "mcp logout": true,
}

// looking are the commands that only look at jobs: they work although the configuration
// has faults.
var looking = map[string]bool{
	"jobs": true, "jobs show": true, "jobs logs": true, "jobs steps": true, "jobs transcript": true,
	"jobs artifacts": true, "jobs diff": true, "jobs graph": true,
}

// stayLocal has local commands ignore ADROIT_SERVER and refuse --server.
func (a *app) stayLocal(cmd *cobra.Command, _ []string) error {
	a.looks = looking[path(cmd)]
	if !isLocal(cmd) {
		return nil
	}
	if a.local = true; a.server != "" {
		return kit.Usagef("run it where the server is, without --server", "%s works with the files of this machine, not with a server", cmd.CommandPath())
	}
	return nil
}

func isLocal(cmd *cobra.Command) bool {
	for c := cmd; c.HasParent(); c = c.Parent() {
		if localCommands[path(c)] {
			return true
		}
	}
	return false
}

// path is the words that name a command.
func path(cmd *cobra.Command) string {
	return strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
}
