package host_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/adroit-run/adroit/internal/host"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/tools"
)

// A tool that declares itself unsafe and changes no files, or that declares nothing at all,
// is never begun again after an interruption: there is nothing that could be taken back.
func TestUnsafeIsNotBegunAgain(t *testing.T) {
	for _, c := range []struct {
		needs  tools.Caps
		effect tools.Effect
		again  bool
	}{
		{0, tools.Unsafe, false}, {0, "", false}, {tools.Read, tools.Unsafe, false}, {tools.Think, tools.Unsafe, false}, {tools.Read | tools.Write, tools.Unsafe, true}, // as edit_file: the ledger knows

		{tools.Read | tools.Shell, "", false}, {tools.Net, "", false}, {tools.Write | tools.Publish, "", false},
		{tools.Read, "", true}, {tools.Think, "", true}, {tools.Read | tools.Write, "", true}, {0, tools.Pure, true}, {tools.Net, tools.Idempotent, true},
	} {
		tool := tools.New(tools.Metadata{Name: "act", Description: "Act.", UsageHint: "Rarely.", Category: "utility", Needs: c.needs, Effect: c.effect},
			func(context.Context, *tools.Env, struct{}) (string, error) { return "", nil })
		set, err := tools.NewSet(tool)
		if err != nil {
			t.Fatal(err)
		}
		rt := host.Serve(host.Host{Tools: set, Revert: func(string, string, string) (bool, error) { return true, nil }})[turn.ToolStep]
		in, err := json.Marshal(turn.ToolCall{Args: json.RawMessage(`{}`), Permission: &turn.PermissionContext{Approve: "all"}})
		if err != nil {
			t.Fatal(err)
		}
		s := flow.Step{Job: "J", Path: "1.1", Kind: turn.ToolStep, Name: "act", Input: in}
		again := rt.Again(s)
		if !again {
			if again, err = rt.Settle(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		}
		if again != c.again {
			t.Errorf("needs %s, effect %q: begun again: %v", c.needs, c.effect, again)
		}
	}
}
