package cli_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/cli"
	"github.com/adroit-run/adroit/pkg/tools"
)

// A command that needs no tools must not pay for checking and compiling them.
// This tool's schema fails as soon as a set is made of it.
func TestToolsAreBuiltWhenNeeded(t *testing.T) {
	faulty := tools.New(tools.Metadata{Name: "faulty", Description: "Wait."},
		func(context.Context, *tools.Env, struct{ C chan int }) (string, error) { return "", nil })
	home := t.TempDir()
	run := func(args ...string) (code int, out string) {
		var b bytes.Buffer
		p := cli.Program{Tools: []tools.Tool{faulty}, Stdout: &b, Stderr: &b, Getenv: func(key string) string {
			if key == "ADROIT_HOME" || key == "HOME" {
				return home
			}
			return ""
		}}
		return p.Run(t.Context(), args...), b.String()
	}
	for _, args := range []string{"--help", "version", "--version", "jobs", "jobs --json", "jobs --help", "models --help"} {
		if code, out := run(strings.Fields(args)...); code != 0 {
			t.Errorf("adroit %s needs the tools: exit code %d\n%s", args, code, out)
		}
	}
	if code, out := run("tools", "list"); code == 0 || !strings.Contains(out, "faulty") {
		t.Errorf("adroit tools list does not report the tool: exit code %d\n%s", code, out)
	}
}
