package agents

import (
	"fmt"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/tools"
)

// ofServer reports whether a name of a tool is that of a tool server's: these are
// known only when the server is, which is when a job begins.
func ofServer(name string) bool { return strings.HasPrefix(name, turn.Prefix("")) }

// unknownTools are the tools that an agent in the form of Claude Code names and this
// program does not have: it goes without them, as it does there.
func unknownTools(a *DynamicAgent, set *tools.Set) (names []string) {
	if !a.Source.Claude {
		return nil
	}
	for _, name := range a.Tools {
		if !ofServer(name) && set.Unknown(name) != nil {
			names = append(names, name)
		}
	}
	return names
}

// LintServers warns about servers, and tools of servers, that an agent in the form of
// Claude Code names and that are not configured: it goes without them.
func LintServers(a *DynamicAgent, configured []string) Problems {
	if !a.Source.Claude {
		return nil
	}
	rep := &report{src: a.Source}
	help := hint.Command("mcp add") + " adds one"
	for i, name := range a.Tools {
		if ofServer(name) && !slices.ContainsFunc(configured, func(s string) bool { return strings.HasPrefix(name, turn.Prefix(s)) }) {
			rep.key(fmt.Sprintf("tools.%d", i), Warning, help, "no configured MCP server has %s; it is left out", name)
		}
	}
	for _, s := range a.MCPServers {
		if !slices.Contains(configured, s) {
			rep.key("tools", Warning, help, "there is no MCP server %s; its tools are left out", s)
		}
	}
	return rep.list
}

// toolPatterns are what selects the tools of a from a set: its names, without those
// of tools of servers that the set does not have and those that it goes without, and
// all of its servers.
func toolPatterns(a *DynamicAgent, set *tools.Set) []string {
	var out []string
	without := unknownTools(a, set)
	for _, name := range a.Tools {
		if slices.Contains(without, name) {
			continue
		}
		if !ofServer(name) || set.Unknown(name) == nil {
			out = append(out, name)
		}
	}
	for _, server := range a.MCPServers {
		if all := turn.Prefix(server) + "*"; set.Unknown(all) == nil {
			out = append(out, all)
		}
	}
	return out
}
