package adroit

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/adroit-run/adroit/internal/apierr"
	"github.com/adroit-run/adroit/internal/project"
	"github.com/adroit-run/adroit/internal/toolserver"
	"github.com/adroit-run/adroit/internal/workspace/process"
	"github.com/adroit-run/adroit/internal/workspace/sandbox"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workspace"
)

// A ToolCall calls a tool outside of a job.
type ToolCall struct {
	Name    string          `json:"name"`
	Server  string          `json:"server,omitempty"` // the MCP server that has the tool, under the name that it gives it
	Args    json.RawMessage `json:"args"`
	Dir     string          `json:"dir"`
	Sandbox string          `json:"sandbox,omitempty"` // the level of commands; empty: as configured
}

// CallTool implements [Catalog].
func (rt *Runtime) CallTool(ctx context.Context, c ToolCall) (*executor.ToolResult, error) {
	r, err := rt.callTool(ctx, c)
	if err != nil {
		return nil, apierr.AsError(err)
	}
	return &executor.ToolResult{Result: r}, nil
}

func (rt *Runtime) callTool(ctx context.Context, c ToolCall) (r tools.Result, err error) {
	set, err := rt.tools()
	if err != nil {
		return r, err
	}
	t, ok := set.Lookup(c.Name)
	if c.Server != "" {
		scope, err := rt.serverScope(c.Dir, false)
		if err != nil {
			return r, err
		}
		if t, err = rt.toolServers().Find(ctx, scope, c.Server, c.Name); err != nil {
			return r, err
		}
		ctx = toolserver.WithSaid(ctx, toolserver.Said{Nobody: true})
	} else if !ok {
		hint := "adroit tools list lists the tools"
		if n := set.Nearest(c.Name); n != "" {
			hint = fmt.Sprintf("did you mean %q?", n)
		}
		return r, apierr.Invalidf(hint, "unknown tool %q", c.Name)
	}
	logs, err := os.MkdirTemp("", "adroit-call-")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(logs)
	files, err := workspace.Open(c.Dir, nil)
	if err != nil {
		return r, err
	}
	defer files.Close()
	confined := rt.confine()
	if c.Sandbox != "" {
		if confined.Level, err = sandbox.Parse(c.Sandbox); err != nil {
			return r, apierr.Invalidf("", "--sandbox: %v", err)
		}
	}
	confined.Private = filepath.Join(logs, "sandbox")
	// logs goes when the command has ended; what it must not leave stays.
	confined.Removed = filepath.Join(rt.data(), "removed", time.Now().UTC().Format("20060102T150405.000"))
	exec := process.New(c.Dir, logs, nil, process.WithSandbox(confined))
	defer exec.Close()
	test, _, err := rt.testCommandIn(c.Dir)
	if err != nil {
		return r, err
	}
	return t.Run(ctx, &tools.Env{Job: "call", Key: "call", Artifacts: project.TestCommand(test), Files: files, Exec: exec, HTTP: rt.o.Network.Client()}, c.Args)
}

// testCommandIn returns the command line that runs the tests of a workspace, and
// where it comes from.
func (rt *Runtime) testCommandIn(dir string) (command, from string, err error) {
	d, err := rt.trusts(dir, false)
	if err != nil {
		return "", "", err
	}
	command, from = d.TestCommand(rt.o.TestCommands, rt.warn)
	return command, from, nil
}
