package temporal

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/flow/stepkind"
	"github.com/adroit-run/adroit/pkg/flow"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// A journal is what one execution of a workflow knows; all its branches share
// it, which is safe because Temporal runs one coroutine at a time.
type journal struct {
	o    Options
	name string
	carry
}

// An engine is flow.Engine for one branch.
type engine struct {
	ctx    workflow.Context
	j      *journal
	branch bool
	ended  error
}

func (e *engine) Do(s flow.Step) (json.RawMessage, error) {
	if e.ended != nil {
		return nil, e.ended
	}
	out, err := e.do(s)
	if _, failed := errors.AsType[*flow.StepError](err); err != nil && !failed {
		e.ended = err
	}
	return out, err
}

func (e *engine) do(s flow.Step) (json.RawMessage, error) {
	switch s.Kind {
	case stepkind.Checkpoint:
		return nil, e.save(s)
	case stepkind.Restore:
		if st, ok := e.j.States[s.Path]; ok {
			return json.Marshal(st)
		}
		return nil, nil
	}
	rec, ok := e.j.Records[s.Path]
	if ok && rec.Sum != s.Sum() {
		return nil, &flow.DivergedError{Recorded: rec, Asked: s}
	}
	if !ok {
		out, failure, err := e.perform(s)
		if err != nil {
			return nil, fmt.Errorf("step %s: %w", s.Path, err)
		}
		rec = flow.Record{Job: s.Job, Path: s.Path, Kind: s.Kind, Name: s.Name, Sum: s.Sum(), Done: true, Output: out, Failure: failure}
		e.j.Records[s.Path] = rec
	}
	if rec.Failure != nil {
		return nil, &flow.StepError{Path: s.Path, Kind: s.Kind, Name: s.Name, Failure: *rec.Failure}
	}
	return rec.Output, nil
}

func (e *engine) perform(s flow.Step) (json.RawMessage, *flow.Failure, error) {
	nothing := json.RawMessage("{}")
	switch stepkind.Roles[s.Kind] {
	case stepkind.Mark:
		return nothing, nil, nil
	case stepkind.Pause:
		var d time.Duration
		if err := json.Unmarshal(s.Input, &d); err != nil {
			return nil, nil, err
		}
		return nothing, nil, workflow.Sleep(e.ctx, d)
	case stepkind.Question:
		return e.await(s)
	}
	rt := e.j.o.Mux[s.Kind]
	var kinds [2]int // of failures: others, busy
	var since time.Time
	for n := 1; ; n++ {
		got, err := e.attempt(rt, s, n)
		if err != nil {
			return nil, nil, err
		}
		f := got.Failure
		if f == nil {
			return got.Output, nil, nil
		}
		f.After, f.Busy = got.After, got.Busy
		kind := 0
		if f.Busy && rt.Patience > 0 {
			if kind = 1; kinds[1] == 0 {
				since = workflow.Now(e.ctx)
			}
		}
		kinds[kind]++
		wait, again := rt.Next(f, kinds[kind], workflow.Now(e.ctx).Sub(since))
		if !again {
			return got.Output, f, nil
		}
		// Without jitter, which a workflow has no dice for.
		if err := workflow.Sleep(e.ctx, wait); err != nil {
			return nil, nil, err
		}
	}
}

// tries is how often Temporal gives a safe step to a worker when workers die.
const tries = 5

func (e *engine) attempt(rt flow.Route, s flow.Step, n int) (outcome, error) {
	o := workflow.ActivityOptions{
		ActivityID:          id(s, n),
		StartToCloseTimeout: limit(rt) + e.j.o.Heartbeat, // the worker keeps the limit itself while it lives
		HeartbeatTimeout:    e.j.o.Heartbeat,
		WaitForCancellation: true,
		RetryPolicy:         &temporal.RetryPolicy{MaximumAttempts: 1},
		Summary:             s.Name,
	}
	if rt.Again(s) {
		o.RetryPolicy.MaximumAttempts = tries
	}
	ctx := workflow.WithActivityOptions(e.ctx, o)
	var got outcome
	err := workflow.ExecuteActivity(ctx, kind(s), s).Get(ctx, &got)
	if err == nil {
		return got, nil
	}
	if temporal.IsCanceledError(err) || e.ctx.Err() != nil {
		return outcome{}, err // a cancellation is no outcome
	}
	if _, silent := errors.AsType[*temporal.TimeoutError](err); silent {
		return outcome{Failure: &flow.Failure{Code: flow.Interrupted, Message: "interrupted: it may or may not have happened", Undecided: true}}, nil
	}
	// The worker could not take the step or give its result back, for
	// example because it is too big: a second time would be no better.
	return outcome{Failure: &flow.Failure{Code: flow.Failed, Message: err.Error()}}, nil
}

func (e *engine) await(s flow.Step) (json.RawMessage, *flow.Failure, error) {
	var w flow.Wait
	if err := json.Unmarshal(s.Input, &w); err != nil {
		return nil, nil, err
	}
	find := func() int {
		return slices.IndexFunc(e.j.Queue, func(sig flow.Signal) bool {
			return slices.Contains(w.Signals, sig.Name) && s.Accepts(sig) == nil
		})
	}
	came, err := true, error(nil)
	switch {
	case w.Timeout < 0: // what came before
	case w.Timeout > 0:
		came, err = workflow.AwaitWithTimeout(e.ctx, w.Timeout, func() bool { return find() >= 0 })
	default:
		err = workflow.Await(e.ctx, func() bool { return find() >= 0 })
	}
	if err != nil {
		return nil, nil, err
	}
	i := find()
	if !came || i < 0 {
		return nil, &flow.Failure{Code: flow.TimedOut, Message: "nobody answered in time"}, nil
	}
	out, err := json.Marshal(e.j.Queue[i])
	e.j.Queue = slices.Delete(e.j.Queue, i, i+1)
	return out, nil, err
}

// save forgets what lies in the scope, and continues as new if the history is
// long. A branch cannot end the execution of its siblings: it leaves that to
// the next checkpoint outside.
func (e *engine) save(s flow.Step) error {
	var st flow.State
	if err := json.Unmarshal(s.Input, &st); err != nil {
		return fmt.Errorf("checkpoint %q: %w", s.Path, err)
	}
	maps.DeleteFunc(e.j.Records, func(path string, _ flow.Record) bool { return strings.HasPrefix(path, s.Path) })
	maps.DeleteFunc(e.j.States, func(scope string, _ flow.State) bool { return strings.HasPrefix(scope, s.Path) })
	e.j.States[s.Path] = st
	if e.branch || workflow.GetInfo(e.ctx).GetCurrentHistoryLength() < e.j.o.LongHistory {
		return nil
	}
	return workflow.NewContinueAsNewError(e.ctx, e.j.name, e.j.carry)
}

// Fork runs the branches as coroutines.
func (e *engine) Fork(n int, branch func(int, flow.Engine)) {
	own := make([]*engine, n)
	wg := workflow.NewWaitGroup(e.ctx)
	wg.Add(n)
	for i := range n {
		own[i] = &engine{j: e.j, branch: true}
		workflow.Go(e.ctx, func(ctx workflow.Context) {
			defer wg.Done()
			own[i].ctx = ctx
			branch(i, own[i])
		})
	}
	wg.Wait(e.ctx)
	for _, b := range own {
		if b.ended != nil && e.ended == nil {
			e.ended = b.ended
		}
	}
}
