package host_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/adroit-run/adroit/internal/host"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workspace"
)

// A tool that publishes is not run before its checks have passed on the files to be published, in
// whatever mode, and a passed check counts for nothing else.
func TestCheckedFirst(t *testing.T) {
	dir := t.TempDir()
	put := func(text string) {
		if err := os.WriteFile(filepath.Join(dir, "post.md"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("one")
	files, err := workspace.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = files.Close() })
	sent := 0
	send := tools.New(tools.Metadata{Name: "send", Description: "Send.", Needs: tools.Read | tools.Publish, Uses: []string{"content"}},
		func(_ context.Context, env *tools.Env, in struct {
			From string `json:"from,omitempty"`
		}) (tools.Result, error) {
			sent++
			if in.From != "" && env.Approved[in.From] == "" {
				t.Errorf("the tool is given %v, which has no digest of %s", env.Approved, in.From)
			}
			return tools.Result{Text: "sent"}, nil
		})
	send.Touches = func(args json.RawMessage) []string { return []string{turn.TextArgument(args, "from")} }
	send.Before = func(json.RawMessage) []tools.Precondition {
		return []tools.Precondition{{Tool: "look", Args: json.RawMessage(`{}`)}}
	}
	set, err := tools.NewSet(send)
	if err != nil {
		t.Fatal(err)
	}
	m := host.Serve(host.Host{Tools: set, Env: func(context.Context, string, string) (*tools.Env, error) { return &tools.Env{Files: files}, nil }})
	call := func(use turn.ToolCall) (r executor.ToolResult) {
		t.Helper()
		in, err := json.Marshal(use)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := m[turn.ToolStep].Handler(t.Context(), flow.Step{Job: "J", Kind: turn.ToolStep, Name: "send", Input: in}, func(event.Event) {})
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(raw, &r); err != nil {
			t.Fatal(err)
		}
		return r
	}
	unchecked := func(r executor.ToolResult) (u turn.Unchecked) {
		if r.Unchecked != nil {
			if err := json.Unmarshal(r.Unchecked, &u); err != nil {
				t.Fatal(err)
			}
		}
		return u
	}
	content := func(s string) map[string]json.RawMessage {
		return map[string]json.RawMessage{"content": json.RawMessage(`"` + s + `"`)}
	}
	for _, approve := range []executor.Approve{executor.ApproveAll, executor.ApproveEdits} {
		sent = 0
		use := turn.ToolCall{Args: json.RawMessage(`{"from":"post.md"}`), Artifacts: content("a"), Permission: &turn.PermissionContext{Approve: string(approve)}}
		first := call(use)
		if len(unchecked(first).Checks) != 1 || first.Question != nil {
			t.Fatalf("%s: not checked first: %+v", approve, first)
		}
		use.Checked = unchecked(first).Digest
		put("two")
		if r := call(use); r.Unchecked == nil || unchecked(r).Digest == use.Checked {
			t.Errorf("%s: another file was checked: %+v", approve, r)
		}
		put("one")
		use.Artifacts = content("b")
		if r := call(use); r.Unchecked == nil {
			t.Errorf("%s: another artifact was checked: %+v", approve, r)
		}
		use.Artifacts = content("a")
		if sent != 0 {
			t.Fatalf("%s: sent unchecked", approve)
		}
		r := call(use)
		if approve == executor.ApproveEdits {
			if r.Question == nil {
				t.Fatalf("not asked: %+v", r)
			}
			use.Approved = r.Question.Digest
			r = call(use)
		}
		if sent != 1 || r.Text != "sent" {
			t.Errorf("%s: %+v", approve, r)
		}
	}
	for _, c := range []turn.PermissionContext{{Approve: string(executor.ApproveNone)}, {Mode: string(executor.ModePlan)}} {
		if r := call(turn.ToolCall{Args: json.RawMessage(`{}`), Permission: &c}); r.Unchecked != nil || !r.Failed {
			t.Errorf("what is refused anyway is checked: %+v", r)
		}
	}
}
