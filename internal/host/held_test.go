package host_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/host"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/guard/permit"
	"github.com/adroit-run/adroit/pkg/parts"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workspace"
)

// Files that agents and editors obey, and that a command made, are accepted by no rule and by no
// approval beforehand; files that tools may write are.
func TestNobodyAcceptsUnseen(t *testing.T) {
	set, err := tools.NewSet(parts.Tools()...)
	if err != nil {
		t.Fatal(err)
	}
	files, err := workspace.Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { files.Close() })
	m := host.Serve(host.Host{
		Tools: set, Confinement: func() host.Confinement { return host.Confinement{Sandbox: "full", Network: "off"} },
		Env: func(context.Context, string, string) (*tools.Env, error) { return &tools.Env{Files: files}, nil },
	})
	allow := permit.Rules{permit.Rule{Tool: "*", Do: permit.Allow}}
	for _, c := range []struct {
		path    string
		approve executor.Approve
		mode    executor.Mode
		rules   permit.Rules
		want    string // asked, denied or run
	}{
		{".vscode/tasks.json", executor.ApproveEdits, executor.ModeAuto, allow, "asked"},
		{"a/.CLAUDE/settings.json", executor.ApproveAll, executor.ModeAuto, allow, "denied"},
		{".mcp.json", executor.ApproveNone, executor.ModeEdits, allow, "denied"},
		{".mcp.json", executor.ApproveEdits, executor.ModePlan, allow, "denied"},
		{"mise.toml", executor.ApproveEdits, executor.ModeEdits, nil, "asked"},
		{"mise.toml", executor.ApproveEdits, executor.ModeAuto, nil, "asked"},
		{"mise.toml", executor.ApproveNone, executor.ModeAuto, nil, "denied"},
		{"mise.toml", executor.ApproveNone, executor.ModeAuto, allow, "run"},
	} {
		args, _ := json.Marshal(map[string]any{"files": []turn.HeldFile{{Path: c.path, SHA256: strings.Repeat("0", 64)}}})
		in, err := json.Marshal(turn.ToolCall{Args: args, Permission: &turn.PermissionContext{Mode: string(c.mode), Approve: string(c.approve), Rules: c.rules}})
		if err != nil {
			t.Fatal(err)
		}
		raw, err := m[turn.ToolStep].Handler(t.Context(), flow.Step{Job: "J", Kind: turn.ToolStep, Name: turn.AcceptFiles, Input: in}, func(event.Event) {})
		var reply executor.ToolResult
		if err == nil {
			err = json.Unmarshal(raw, &reply)
		}
		got := "run" // and found that nothing is kept
		switch {
		case err != nil:
			t.Fatal(err)
		case reply.Question != nil && (reply.Question.Always == nil) == (c.path != "mise.toml"):
			got = "asked"
		case reply.Question != nil:
			got = "asked, and always is wrong"
		case reply.Refused:
			got = "denied"
		}
		if got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}
