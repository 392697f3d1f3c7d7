// Package host performs the steps that the agent loop of pkg/executor asks for: it asks
// models, runs tools under permissions, compacts conversations, reads what a person
// attaches and copies work trees. Everything that does I/O for the loop is here.
//
//	mux := host.Guard(host.Serve(host.Host{Models: models, Tools: set, Env: env, Blobs: blobs}), redactor)
//
// It decides nothing about the course of a job: that is the loop's, which is replayed and
// cannot see files, clocks or the network.
package host

import (
	"time"

	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/flow"
)

// Serve returns the handlers of the steps that Loop asks for: "model", "tool"
// and "compact".
func Serve(h Host) flow.Mux {
	attempts := h.Attempts
	if attempts == 0 {
		attempts = 5
	}
	m := &models{Host: h, convs: map[string]*conversation{}, blind: map[string]string{}}
	return flow.Mux{
		turn.ModelStep: {Handler: m.serve, Timeout: max(h.ModelTimeout, turn.AgentTimeout), Attempts: attempts, Patience: h.Patience, Safe: repeatableModel, Describe: h.withCost(describeModel), Recount: recountCost(h.withCost(describeModel))},
		turn.ToolStep:  {Handler: h.tool, Timeout: 2 * time.Hour, Safe: h.repeatable, Settle: h.revertInterrupted, New: h.isNew, Describe: h.withCost(describeTool), Recount: recountCost(h.withCost(describeTool))},

		turn.WorktreeStep: h.trees(),
		turn.CompactStep:  {Handler: m.compact, Timeout: h.ModelTimeout, Attempts: 2, Patience: h.Patience, Safe: flow.Always, Describe: h.withCost(describeCompact), Recount: recountCost(h.withCost(describeCompact))},
	}
}
