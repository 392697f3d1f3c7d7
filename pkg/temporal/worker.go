package temporal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/flow"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"time"
)

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
