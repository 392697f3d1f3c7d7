package mcp

import (
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/tools"
)

// TestOffline: a tool describes what its server reaches, also in the question about a call, and
// the results of every server count as a stranger's.
func TestOffline(t *testing.T) {
	for _, tt := range []struct {
		s       Server
		level   string
		offline bool
		words   string
	}{
		{Server{Command: commandLine{"x"}}, "auto", true, "in the sandbox and has no network"},
		{Server{Command: commandLine{"x"}}, "", true, "in the sandbox and has no network"},
		{Server{Command: commandLine{"x"}, Grants: Grants{Workspace: "write"}}, "auto", true, "no network, the workspace to write"},
		{Server{Command: commandLine{"x"}, Grants: Grants{Net: true}}, "auto", false, "in the sandbox and has the network"},
		{Server{Command: commandLine{"x"}, Grants: Grants{Sandbox: "off"}}, "auto", false, "without a sandbox"},
		{Server{Command: commandLine{"x"}}, "off", false, "without a sandbox"}, // as the configuration has it for all
		{Server{URL: "https://a.example"}, "auto", false, "behind an address"},
	} {
		tt.s.level = tt.level
		tool := definition{Name: "look"}.tool("mcp__s__look", "s", tt.s)
		if tool.Offline != tt.offline || !strings.Contains(tool.Asks, tt.words) || tool.Needs&tools.Net == 0 || tool.Taints() != tools.Untrusted {
			t.Errorf("of the server %+v at level %q the tool is %+v", tt.s, tt.level, tool.Metadata)
		}
	}
}
