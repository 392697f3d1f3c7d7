package host_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/adroit-run/adroit/internal/host"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/guard/secret"
	"github.com/adroit-run/adroit/pkg/tools"
)

// A secret taints the job however it was read: by a tool, or by a command, whose output
// has lost it before the step ends. What only its name shows does not.
func TestSecretTaints(t *testing.T) {
	r := secret.NewRedactor(secret.Options{Known: []secret.Known{{Name: "KEY", Value: "Zebra9Crossing77"}}})
	fromCommand, _ := r.String("it is Zebra9Crossing77")
	for name, c := range map[string]struct {
		text string
		want bool
	}{
		"read":             {"it is Zebra9Crossing77", true},
		"from a command":   {fromCommand, true},
		"by its name only": {`access_token = "a9f3c2e1b8d7Kq44"`, false},
		"neither":          {"nothing", false},
	} {
		t.Run(name, func(t *testing.T) {
			tool := tools.New(tools.Metadata{Name: "look", Description: "Look."}, func(context.Context, *tools.Env, struct{}) (tools.Result, error) {
				return tools.Result{Text: c.text}, nil
			})
			set, err := tools.NewSet(tool)
			if err != nil {
				t.Fatal(err)
			}
			in, err := json.Marshal(turn.ToolCall{Args: json.RawMessage(`{}`)})
			if err != nil {
				t.Fatal(err)
			}
			m := host.Guard(host.Serve(host.Host{Tools: set}), r)
			raw, err := m[turn.ToolStep].Handler(t.Context(), flow.Step{Job: "J", Kind: turn.ToolStep, Name: "look", Input: in}, func(event.Event) {})
			if err != nil {
				t.Fatal(err)
			}
			var reply executor.ToolResult
			if err := json.Unmarshal(raw, &reply); err != nil || reply.Taint.Has(tools.Secret) != c.want {
				t.Errorf("%v: %+v", err, reply)
			}
		})
	}
}
