package pipeline

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/adroit-run/adroit/internal/stored"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
)

// Pinned is a pipeline as a job runs it, with all that it names by value.
type Pinned struct {
	Pipeline *Pipeline     `json:"pipeline"`
	Task     executor.Task `json:"task"` // with the tools of its steps, and their agents to spawn
	// Models are those that a recovery may change to.
	Models []string `json:"models,omitempty"`
}

// UnmarshalJSON reads what a job has kept.
func (p *Pinned) UnmarshalJSON(b []byte) error {
	type plain Pinned
	kept := struct {
		*plain
		Pipeline json.RawMessage `json:"pipeline"`
	}{plain: (*plain)(p)}
	if err := stored.Decode(b, &kept); err != nil {
		return err
	}
	return strict(kept.Pipeline, &p.Pipeline)
}

// pinning is the kind of the first step of every pipeline's job. From there on
// the job does not depend on any file.
const pinning = "pin"

// Routes performs "pin" steps with pin, which looks the pipeline up, checks it
// with [Pin] and resolves its task. It is called once in the life of a job.
func Routes(pin func(ctx context.Context, in agents.Input) (Pinned, error)) flow.Mux {
	return flow.Mux{pinning: {
		Safe: flow.Always,
		Handler: func(ctx context.Context, s flow.Step, _ event.Sink) (json.RawMessage, error) {
			var in agents.Input
			if err := json.Unmarshal(s.Input, &in); err != nil {
				return nil, fmt.Errorf("pipeline %s: decoding input: %w", s.Name, err)
			}
			got, err := pin(ctx, in)
			if err != nil {
				return nil, err
			}
			return json.Marshal(got)
		},
		Describe: func(_ flow.Step, out json.RawMessage) (string, json.RawMessage) {
			var got Pinned
			if json.Unmarshal(out, &got) != nil || got.Pipeline == nil {
				return "", nil
			}
			return fmt.Sprintf("%s with %d steps", got.Pipeline.Name, len(got.Pipeline.Steps)), nil
		},
	}}
}
