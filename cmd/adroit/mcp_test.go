package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/adroit-run/adroit/internal/e2e/authserver"
)

// TestMCP runs jobs beside real MCP servers, which .ci/run installs.
func TestMCP(t *testing.T) {
	servers := os.Getenv("MCP_SERVERS")
	if servers == "" {
		if os.Getenv("CI") != "" {
			t.Fatal("MCP_SERVERS is not set; internal/e2e/mcp/build.sh prints it")
		}
		t.Skip("MCP_SERVERS names no directory; internal/e2e/mcp/build.sh makes one")
	}
	guarded := authserver.New(t, "")
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "mcp"), RequireExplicitExec: true, RequireUniqueNames: true,
		Setup: func(env *testscript.Env) error {
			home := filepath.Join(env.WorkDir, "home")
			if err := os.MkdirAll(home, 0o755); err != nil {
				return err
			}
			for k, v := range map[string]string{
				"HOME": home, "AUTH_URL": guarded.URL, "ADROIT_HOME": filepath.Join(env.WorkDir, "data"), "MCP_SERVERS": servers, "OLLAMA_HOST": "127.0.0.1:9",
				"GOCOVERDIR": os.Getenv("GOCOVERDIR"), "GORACE": os.Getenv("GORACE"),
			} {
				env.Setenv(k, v)
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"code": code},
	})
}
