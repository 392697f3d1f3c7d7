package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/adroit-run/adroit/internal/dev/e2e/authserver"
	"github.com/adroit-run/adroit/internal/dev/testenv"
)

// TestMCP runs jobs beside real MCP servers, which .ci/run installs.
func TestMCP(t *testing.T) {
	t.Parallel()
	servers := testenv.NeedsVariable(t, "MCP_SERVERS", "install.sh mcp")
	guarded := authserver.New(t, "")
	testscript.Run(t, withHints(t, testscript.Params{
		Dir: filepath.Join("testdata", "mcp"), RequireExplicitExec: true, RequireUniqueNames: true,
		Setup: func(env *testscript.Env) error {
			home := filepath.Join(env.WorkDir, "home")
			if err := os.MkdirAll(home, 0o755); err != nil {
				return err
			}
			for k, v := range map[string]string{
				"HOME": home, "AUTH_URL": guarded.URL, "ADROIT_HOME": filepath.Join(env.WorkDir, "data"), "MCP_SERVERS": servers, "OLLAMA_HOST": "127.0.0.1:9", "GOGC": seldom,
				"GOCOVERDIR": os.Getenv("GOCOVERDIR"), "GORACE": os.Getenv("GORACE"),
			} {
				env.Setenv(k, v)
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"code": code, "hint": runHint, "await": awaitText},
	}))
}

// awaitText waits until a file has a text: await FILE TEXT.
func awaitText(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: await FILE TEXT")
	}
	for range 6000 {
		if b, err := os.ReadFile(ts.MkAbs(args[0])); err == nil && strings.Contains(string(b), args[1]) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	ts.Fatalf("%s does not get %q", args[0], args[1])
}
