package agents

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
)

// Routes performs "resolve" steps with resolver, which is [Resolve] bound to
// a catalog, tools and defaults. It is called once in the life of a job.
func Routes(resolver func(ctx context.Context, in Input) (executor.Task, error)) flow.Mux {
	return flow.Mux{turn.ResolveStep: {
		Safe: flow.Always,
		Handler: func(ctx context.Context, s flow.Step, _ event.Sink) (json.RawMessage, error) {
			var in Input
			if err := json.Unmarshal(s.Input, &in); err != nil {
				return nil, fmt.Errorf("resolve %s: decoding input: %w", s.Name, err)
			}
			task, err := resolver(ctx, in)
			if err != nil {
				return nil, err
			}
			return json.Marshal(task)
		},
		Describe: func(_ flow.Step, out json.RawMessage) (string, json.RawMessage) {
			var t executor.Task
			if json.Unmarshal(out, &t) != nil {
				return "", nil
			}
			data, err := json.Marshal(map[string]any{"model": t.Model, "window": t.Options.Window, "tools": len(t.Tools)})
			if err != nil {
				return "", nil
			}
			return fmt.Sprintf("%s with %d tools", t.Model, len(t.Tools)), data
		},
	}}
}
