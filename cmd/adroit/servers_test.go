package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestServers runs jobs beside real language servers. .ci/run has them all,
// and a script fails there without; elsewhere it says which one it misses.
func TestServers(t *testing.T) {
	t.Parallel()
	path := os.Getenv("PATH")
	for _, at := range []string{os.Getenv("GOPLS_BIN"), os.Getenv("LANGUAGE_SERVERS")} {
		if info, err := os.Stat(at); err == nil && !info.IsDir() {
			at = filepath.Dir(at)
		}
		if at != "" {
			path = at + string(os.PathListSeparator) + path
		}
	}
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "servers"), RequireExplicitExec: true, RequireUniqueNames: true,
		Setup: func(env *testscript.Env) error {
			home := filepath.Join(env.WorkDir, "home")
			if err := os.MkdirAll(home, 0o755); err != nil {
				return err
			}
			for k, v := range map[string]string{
				"HOME": home, "ADROIT_HOME": filepath.Join(env.WorkDir, "data"), "PATH": env.Getenv("PATH") + string(os.PathListSeparator) + path,
				"OLLAMA_HOST": "127.0.0.1:9", "GOGC": seldom, "GOCACHE": goCache(t), "GOFLAGS": "", "GOTOOLCHAIN": "local", "GOCOVERDIR": os.Getenv("GOCOVERDIR"), "GORACE": os.Getenv("GORACE"),
			} {
				env.Setenv(k, v)
			}
			return nil
		},
		Cmds:      map[string]func(*testscript.TestScript, bool, []string){"code": code},
		Condition: has(path),
	})
}
