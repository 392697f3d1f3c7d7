// Package conformance runs the conformance suite of MCP, which
// internal/dev/e2e/install.sh installs, on a client or a server of ours.
//
//	conformance.Run(t, "client", "--command", program, "--requirements", "2026-07-28")
//	conformance.Run(t, "server", "--url", address, "--requirements", "2025-11-25")
package conformance

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/testenv"
)

// Run runs the suite with arguments and fails if it does. In CI it must be there;
// elsewhere the test is skipped without it.
func Run(t testing.TB, args ...string) {
	t.Helper()
	dir := testenv.NeedsVariable(t, "MCP_CONFORMANCE", "install.sh mcp/conformance")
	arch := map[string]string{"amd64": "x64"}[runtime.GOARCH]
	arch = cmp.Or(arch, runtime.GOARCH)
	node := filepath.Join(dir, "node_modules", "node-linux-"+arch, "bin", "node")
	suite := filepath.Join(dir, "node_modules", "@modelcontextprotocol", "conformance", "dist", "index.js")
	cmd := exec.CommandContext(t.Context(), node, append([]string{suite}, args...)...)
	cmd.Dir = t.TempDir() // it writes its results there
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("the suite: %v\n%s\n%s", err, failures(cmd.Dir), out) // what failed comes first: the output is long
		return
	}
	t.Logf("%s", out)
}

// failures lists the failed checks, with the suite's explanations.
func failures(dir string) string {
	var b strings.Builder
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "checks.json" {
			return err
		}
		var checks []struct{ ID, Status, ErrorMessage string }
		if text, err := os.ReadFile(path); err != nil || json.Unmarshal(text, &checks) != nil {
			return err
		}
		for _, c := range checks {
			if c.Status == "FAILURE" {
				fmt.Fprintf(&b, "%s: %s\n", c.ID, c.ErrorMessage)
			}
		}
		return nil
	}) // what cannot be read is not shown
	return b.String()
}
