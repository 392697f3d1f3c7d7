package adroit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/adroit-run/adroit/internal/git"
	"github.com/adroit-run/adroit/internal/hooks"
	"github.com/adroit-run/adroit/internal/host"
	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/internal/work/process"
	"github.com/adroit-run/adroit/internal/work/sandbox"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
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
		return nil, problem.AsError(err)
	}
	return r, nil
}

// callTool performs the step that a job would perform, with the operator's rules, mode, hooks and
// secrets. Whoever calls approves it, so that only what is denied is refused.
func (rt *Runtime) callTool(ctx context.Context, c ToolCall) (r *executor.ToolResult, err error) {
	t, ctx, err := rt.calledTool(ctx, c)
	if err != nil {
		return nil, err
	}
	logs, err := os.MkdirTemp("", "adroit-call-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(logs)
	rt.o.guardOwn()
	files, err := workspace.Open(c.Dir, nil)
	if err != nil {
		return nil, err
	}
	defer files.Close()
	confined := rt.confine()
	if c.Sandbox != "" {
		if confined.Level, err = sandbox.Parse(c.Sandbox); err != nil {
			return nil, problem.Invalidf("", "--sandbox: %v", err)
		}
	}
	confined.Private = filepath.Join(logs, "sandbox")
	// logs goes when the command has ended; what it must not leave stays.
	confined.Removed = filepath.Join(rt.data(), "removed", time.Now().UTC().Format("20060102T150405.000"))
	exec := process.New(c.Dir, logs, nil, process.WithSandbox(confined))
	exec.DenyList = rt.o.Names
	defer exec.Close()
	test, _, err := rt.testCommandIn(c.Dir)
	if err != nil {
		return nil, err
	}
	dir := func(string) (string, error) { return c.Dir, nil }
	runners := hooks.In(dir, rt.o.Hooks)
	defer func() { err = errors.Join(err, runners.Close()) }()
	hide := rt.o.Secrets.With(git.FileSecrets(ctx, c.Dir, rt.o.Names)...)
	client := rt.o.Network.Client()
	defer client.CloseIdleConnections()
	h := host.Host{
		ServerTool: func(string) (tools.Tool, bool) { return t, true }, Secrets: hide,
		Env: func(context.Context, string, string) (*tools.Env, error) {
			return &tools.Env{Files: files.WithDenyList(rt.o.Names), Exec: exec, HTTP: client}, nil
		},
		Middleware:  slices.Concat([]func(host.ToolHandler) host.ToolHandler{runners.Around}, rt.o.Middleware),
		Confinement: func() host.Confinement { return rt.fence(ctx, JobConfig{Sandbox: confined.Level}) },
	}
	given := map[string]json.RawMessage{}
	if test != "" {
		if given[tools.TestCommand], err = json.Marshal(test); err != nil {
			return nil, err
		}
	}
	use := turn.ToolCall{Args: c.Args, Artifacts: given, Permission: &turn.PermissionContext{
		Mode: string(rt.o.Defaults.Mode), Approve: string(executor.ApproveAll), Rules: rt.o.Defaults.Rules,
	}}
	step := host.Guard(host.Serve(h), hide)[turn.ToolStep].Handler
	if r, err = toolStep(ctx, step, t.Name, use); err != nil {
		return nil, err
	}
	if r.Unchecked != nil {
		u := new(turn.Unchecked)
		if err := json.Unmarshal(r.Unchecked, u); err != nil {
			return nil, err
		}
		if failed, err := rt.precheck(ctx, c, u); failed != nil || err != nil {
			return failed, err
		}
		use.Checked = u.Digest
		if r, err = toolStep(ctx, step, t.Name, use); err != nil {
			return nil, err
		}
	}
	switch q := r.Question; {
	case q != nil:
		return nil, problem.Invalidf("a job asks a person about it", "%s was not run: %s", t.Name, q.Why)
	case r.Unchecked != nil:
		return nil, problem.Invalidf("call it again", "%s was not run: what it makes visible to others has changed while it was checked", t.Name)
	}
	return r, nil
}

// toolStep performs a tool step outside of a job.
func toolStep(ctx context.Context, do func(context.Context, flow.Step, event.Sink) (json.RawMessage, error), name string, use turn.ToolCall) (*executor.ToolResult, error) {
	raw, err := json.Marshal(use)
	if err != nil {
		return nil, problem.Invalidf("the arguments are one JSON object", "%v", err)
	}
	if raw, err = do(ctx, flow.Step{Job: "call", Kind: turn.ToolStep, Name: name, Input: raw}, func(event.Event) {}); err != nil {
		return nil, err
	}
	r := new(executor.ToolResult)
	return r, json.Unmarshal(raw, r)
}

// precheck makes the checks that must pass before a call, and returns what the call
// comes to if one does not.
func (rt *Runtime) precheck(ctx context.Context, c ToolCall, u *turn.Unchecked) (*executor.ToolResult, error) {
	for _, check := range u.Checks {
		r, err := rt.callTool(ctx, ToolCall{Name: check.Tool, Args: check.Args, Dir: c.Dir, Sandbox: c.Sandbox})
		if err != nil {
			return nil, fmt.Errorf("%s was not run: the check %s must pass first: %w", c.Name, check.Tool, err)
		}
		if r.Failed && r.Inconclusive != tools.NothingToCheck {
			r.Result = tools.Result{Failed: true, Text: fmt.Sprintf("%s was not run: the check %s must pass first on what it makes visible to others, and it has not:\n%s", c.Name, check.Tool, r.Text)}
			return r, nil
		}
	}
	return nil, nil
}

// calledTool is the tool that a call names, the program's or a server's.
func (rt *Runtime) calledTool(ctx context.Context, c ToolCall) (t tools.Tool, _ context.Context, err error) {
	set, err := rt.tools()
	if err != nil {
		return t, ctx, err
	}
	if c.Server != "" {
		scope, err := rt.serverScope(c.Dir, false)
		if err != nil {
			return t, ctx, err
		}
		t, err = rt.toolServers().Find(ctx, scope, c.Server, c.Name)
		return t, turn.WithSaid(ctx, turn.Said{Nobody: true}), err
	}
	t, ok := set.Lookup(c.Name)
	if !ok {
		help := hint.Command("tools list") + " lists the tools"
		if n := set.Nearest(c.Name); n != "" {
			help = fmt.Sprintf("did you mean %q?", n)
		}
		return t, ctx, problem.Invalidf(help, "unknown tool %q", c.Name)
	}
	return t, ctx, nil
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
