// Package temporal runs workflows of package flow on Temporal: the same Go
// function, with each step an activity.
//
//	w := worker.New(client, "agents", worker.Options{})
//	temporal.Register(w, temporal.Options{Mux: mux}, greet.Workflow)
//	…
//	client.ExecuteWorkflow(ctx, options, "greet", temporal.Start(input))
//	client.SignalWorkflow(ctx, job, "", temporal.Signals, flow.Signal{Name: "go"})
//
// A step's activity is named by its kind, and its id is its path and the
// digest of what it asks for, so that Temporal refuses the edits of a running
// workflow that the local engine refuses. A failure is data in the activity's
// result. Retries of failures are the workflow's, as on the local engine;
// Temporal's own are for workers that die, and only for steps that are safe to
// repeat. A checkpoint continues the workflow as new once its history is long.
//
// It is the first part of an adapter and has no caller but its tests: there is
// no worker command yet, no task queue per host, no blob store behind it
// (payloads stay below Temporal's limit of 2 MB or the step fails), no live
// text, no approvals as updates and no Store over Temporal's visibility. It
// has run on the SDK's test environment, not on a server: what a killed worker
// leaves behind is not tested here.
package temporal

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/flow"
)

// Signals is the name of the Temporal signal that carries a flow.Signal. One
// channel for all names keeps the order in which they were sent.
const Signals = "adroit.signal"

// Options say how a worker serves steps.
type Options struct {
	Mux  flow.Mux
	Emit event.Sink // hears live events of this worker; may be nil
	// LongHistory is the number of history events after which a checkpoint
	// continues the workflow as new; zero means 2,000.
	LongHistory int
	// Heartbeat is how soon a dead worker is noticed; zero means 10 seconds.
	Heartbeat time.Duration
}

// A carry is the input of a workflow, and what one execution hands to the next
// when it continues as new: the journal that the history no longer holds.
type carry struct {
	Input   json.RawMessage        `json:"input,omitempty"`
	States  map[string]flow.State  `json:"states,omitempty"`  // by scope
	Records map[string]flow.Record `json:"records,omitempty"` // by path
	Queue   []flow.Signal          `json:"queue,omitempty"`   // received, not consumed
}

// Start is the input of a workflow that begins.
func Start(input json.RawMessage) any { return carry{Input: input} }

// An outcome is the result of a step's activity.
type outcome struct {
	Output  json.RawMessage `json:"output,omitempty"`
	Failure *flow.Failure   `json:"failure,omitempty"`
	After   time.Duration   `json:"after,omitempty"` // Failure.After, which JSON drops
	Busy    bool            `json:"busy,omitempty"`  // Failure.Busy
}

// limit is how long one attempt may take.
func limit(rt flow.Route) time.Duration {
	if rt.Timeout == 0 {
		return 10 * time.Minute
	}
	return rt.Timeout
}

// id is the activity's: it changes whenever what the step asks for does.
func id(s flow.Step, attempt int) string {
	return fmt.Sprintf("%s#%s.%d", s.Path, s.Sum()[:16], attempt)
}

// kind is the activity's type. Temporal's replay compares only what follows
// the last dot of a type.
func kind(s flow.Step) string { return strings.ReplaceAll(s.Kind, ".", "-") }
