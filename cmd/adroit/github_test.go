package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/adroit-run/adroit/internal/dev/githubtest"
	"github.com/adroit-run/adroit/internal/dev/testenv"
)

// hubConfig is the configuration for a GitHub on loopback and the gh in a directory.
// Programs in a home directory are not seen by commands unless shown.
func hubConfig(dir string) string {
	return "github: {token_env: HUB_TOKEN, host: " + githubtest.Host + "}\nsandbox: {show: [" + dir + "]}\n"
}

// TestGitHub runs scripts with a real gh, in the sandbox of commands, against a
// GitHub on loopback that gh takes for its proxy.
func TestGitHub(t *testing.T) {
	t.Parallel()
	gh := testenv.NeedsVariable(t, "GH_BIN", "build.sh gh")
	dir := filepath.Dir(gh)
	testscript.Run(t, withHints(t, testscript.Params{
		Dir:                 "testdata/github",
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			hub := githubtest.New()
			env.Defer(hub.Close)
			home := filepath.Join(env.WorkDir, "home")
			conf := filepath.Join(home, ".config", "adroit", "config.yaml")
			if err := os.MkdirAll(filepath.Dir(conf), 0o755); err != nil {
				return err
			}
			if err := os.WriteFile(conf, []byte(hubConfig(dir)), 0o600); err != nil {
				return err
			}
			for k, v := range map[string]string{
				"HOME": home, "ADROIT_HOME": filepath.Join(env.WorkDir, "data"), "OLLAMA_HOST": "127.0.0.1:9", "GOGC": seldom,
				"PATH": dir + string(filepath.ListSeparator) + env.Getenv("PATH"), "GOCOVERDIR": os.Getenv("GOCOVERDIR"),
				"HUB_TOKEN": githubtest.Token, "HTTP_PROXY": hub.URL,
			} {
				env.Setenv(k, v)
			}
			if filepath.Base(env.WorkDir) != "script-pr" { // the others' commands change the hub, which is no copy
				env.Setenv("TEST_HINTS", "")
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"code": code, "hint": runHint},
	}))
}
