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
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

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

// Register makes w run the workflows and serve the steps.
func Register(w worker.Registry, o Options, wfs ...flow.Workflow) {
	if o.Emit == nil {
		o.Emit = func(event.Event) {}
	}
	if o.LongHistory == 0 {
		o.LongHistory = 2000
	}
	if o.Heartbeat == 0 {
		o.Heartbeat = 10 * time.Second
	}
	w.RegisterDynamicActivity(func(ctx context.Context, args converter.EncodedValues) (outcome, error) {
		var s flow.Step
		if err := args.Get(&s); err != nil {
			return outcome{}, temporal.NewNonRetryableApplicationError("decoding step", "step", err)
		}
		return serve(ctx, o, s)
	}, activity.DynamicRegisterOptions{})
	for _, wf := range wfs {
		w.RegisterWorkflowWithOptions(func(ctx workflow.Context, c carry) (json.RawMessage, error) {
			return run(ctx, o, wf, c, wfs)
		}, workflow.RegisterOptions{Name: wf.Name})
	}
}

// serve performs a step in the worker.
func serve(ctx context.Context, o Options, s flow.Step) (out outcome, err error) {
	beating, stop := context.WithCancel(ctx)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(o.Heartbeat / 3)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				activity.RecordHeartbeat(beating)
			case <-beating.Done():
				return
			}
		}
	}()
	defer func() {
		stop()
		<-stopped
		if p := recover(); p != nil {
			out, err = outcome{Failure: &flow.Failure{Code: flow.Panicked, Message: fmt.Sprintf("panic: %v", p)}}, nil
		}
	}()
	timeout := limit(o.Mux[s.Kind])
	bounded := s.Within > 0 && s.Within < timeout
	if bounded {
		timeout = s.Within
	}
	timed, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	b, herr := o.Mux.Serve(timed, s, o.Emit)
	if herr == nil {
		return outcome{Output: b}, nil
	}
	if ctx.Err() != nil {
		return outcome{}, ctx.Err() // cancelled, or Temporal gave up on this worker
	}
	if timed.Err() != nil {
		herr = &flow.Failure{Code: flow.TimedOut, Message: fmt.Sprintf("timed out after %s", timeout), Retryable: !bounded}
	}
	f, ok := errors.AsType[*flow.Failure](herr)
	if !ok {
		f = &flow.Failure{Code: flow.Failed, Message: herr.Error()}
	}
	return outcome{Failure: f, After: f.After, Busy: f.Busy}, nil
}

// limit is how long one attempt may take.
func limit(rt flow.Route) time.Duration {
	if rt.Timeout == 0 {
		return 10 * time.Minute
	}
	return rt.Timeout
}

// run is the body of every workflow.
func run(ctx workflow.Context, o Options, wf flow.Workflow, c carry, known []flow.Workflow) (json.RawMessage, error) {
	j := &journal{o: o, name: wf.Name, carry: c}
	if j.States == nil {
		j.States = map[string]flow.State{}
	}
	if j.Records == nil {
		j.Records = map[string]flow.Record{}
	}
	in := workflow.GetSignalChannel(ctx, Signals)
	workflow.Go(ctx, func(ctx workflow.Context) {
		for {
			var sig flow.Signal
			in.Receive(ctx, &sig)
			j.Queue = append(j.Queue, sig)
		}
	})
	e := &engine{ctx: ctx, j: j}
	out, err := wf.Run(flow.NewRun(workflow.GetInfo(ctx).WorkflowExecution.ID, e).With(known...), c.Input)
	if e.ended != nil {
		if _, diverged := errors.AsType[*flow.DivergedError](e.ended); diverged {
			panic(e.ended) // which blocks the workflow for a person instead of failing it
		}
		if workflow.IsContinueAsNewError(e.ended) {
			// What came in after the checkpoint goes along.
			for sig := (flow.Signal{}); in.ReceiveAsync(&sig); sig = (flow.Signal{}) {
				j.Queue = append(j.Queue, sig)
			}
			return nil, workflow.NewContinueAsNewError(ctx, wf.Name, j.carry)
		}
		return nil, e.ended
	}
	return out, err
}

// id is the activity's: it changes whenever what the step asks for does.
func id(s flow.Step, attempt int) string {
	return fmt.Sprintf("%s#%s.%d", s.Path, s.Sum()[:16], attempt)
}

// kind is the activity's type. Temporal's replay compares only what follows
// the last dot of a type.
func kind(s flow.Step) string { return strings.ReplaceAll(s.Kind, ".", "-") }
