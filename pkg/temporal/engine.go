package temporal

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/workflow"

	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// An engine is a flow.Engine over a Temporal workflow. Branches have their own.
type engine struct {
	ctx   workflow.Context
	j     *job
	race  bool // the branch belongs to a race, which it has lost when ctx ends
	ended error
}

// How soon a worker that died is noticed, and how long a step
// waits for its host before the job shows that the host is away.
const heartbeat, hostPatience = 5 * time.Second, 20 * time.Second

// beat is the heartbeat interval of a running step: the answer carries the cancel. The SDK
// would keep reports back for four fifths of the heartbeat timeout.
const beat = time.Second

// Do implements flow.Engine.
func (e *engine) Do(s flow.Step) (json.RawMessage, error) {
	if e.ended != nil {
		return nil, e.ended
	}
	out, err := e.do(s)
	if err != nil && !errors.As(err, new(*flow.StepError)) {
		e.ended = err
	}
	return out, err
}

func (e *engine) do(s flow.Step) (json.RawMessage, error) {
	switch s.Kind {
	case "checkpoint":
		return nil, e.save(s)
	case "restore":
		if st, ok := e.j.States[s.Path]; ok {
			return json.Marshal(st)
		}
		return nil, nil
	}
	rec, ok := e.j.Records[s.Path]
	if ok && rec.Sum != s.Sum() {
		return nil, &flow.DivergedError{Recorded: rec, Asked: s}
	}
	if !rec.Done {
		if !ok {
			rec = flow.Record{Job: s.Job, Path: s.Path, Kind: s.Kind, Name: s.Name, Sum: s.Sum()}
		}
		if e.leave(s.Kind) {
			return nil, errLeave
		}
		o, err := e.perform(s, &rec)
		if err != nil {
			return nil, fmt.Errorf("step %s: %w", s.Path, err)
		}
		rec.Done, rec.Output, rec.Failure = true, o.Output, o.Failure
		e.j.Records[s.Path] = rec
	}
	if rec.Failure != nil {
		return nil, &flow.StepError{Path: s.Path, Kind: s.Kind, Name: s.Name, Failure: *rec.Failure}
	}
	return rec.Output, nil
}

// lost reports whether the branch has lost its race.
func (e *engine) lost() bool { return e.race && e.ctx.Err() != nil && e.j.ctx.Err() == nil }

var lost = Outcome{Failure: &flow.Failure{Code: flow.Lost, Message: "another attempt was first"}}

func (e *engine) perform(s flow.Step, rec *flow.Record) (o Outcome, err error) {
	own := true // no activity: the host learns of it with the next one
	switch s.Kind {
	case flow.KindCall, flow.Note, flow.KindSpawn, flow.Return:
		o.Output = json.RawMessage("{}")
	case flow.KindSleep:
		o.Output, err = json.RawMessage("{}"), e.sleep(s, rec)
	case flow.KindAwait:
		o, err = e.await(s, rec)
	default:
		if own = e.lost(); own {
			o = lost
		} else if o, err = e.activity(s); err != nil && e.lost() {
			own, o, err = true, lost, nil // the host did not get to it
		}
	}
	if err == nil && own {
		e.j.Before = append(e.j.Before, flow.Past{Step: s, Output: o.Output, Failure: o.Failure, Log: o.log})
	}
	return o, err
}

// activity has the host perform a step. Its journal decides about one that was begun before.
func (e *engine) activity(s flow.Step) (o Outcome, err error) {
	if len(s.Input) > e.j.most {
		return Outcome{Failure: &flow.Failure{Code: "too_big", Message: "its input: " + tooBig(len(s.Input), e.j.most)}}, nil
	}
	t := task{jobs.Task{Before: e.j.Before, Step: s, Race: e.race}, e.j.AtOnce}
	e.j.Before = nil
	if s.Kind == turn.ModelStep && e.j.Scope == "" {
		e.j.Turn++
	}
	e.j.doing = s.Kind + " " + s.Name
	e.j.show()
	err = e.j.ask(e.ctx, strings.ReplaceAll(s.Kind, ".", "-"), workflow.ActivityOptions{ActivityID: fmt.Sprintf("%s#%s", s.Path, s.Sum()[:16]), Summary: s.Name}, t, &o)
	return o, err
}

// until waits for a condition, but not beyond the time d after the step began, 0 for ever,
// and not if the run goes on in a new execution, which waits the rest.
func (e *engine) until(rec *flow.Record, d time.Duration, ok func() bool) (came bool, err error) {
	now := workflow.Now(e.ctx)
	if rec.Deadline.IsZero() {
		rec.Deadline = now.Add(cmp.Or(d, 100*365*24*time.Hour))
	}
	e.j.Records[rec.Path] = *rec
	came, err = workflow.AwaitWithTimeout(e.ctx, max(0, rec.Deadline.Sub(now)), func() bool { return ok() || e.j.leaving })
	if err == nil && came && !ok() {
		err = errLeave
	}
	if e.lost() {
		came, err = false, nil
	}
	return came, err
}

func (e *engine) sleep(s flow.Step, rec *flow.Record) error {
	d, err := time.ParseDuration(s.Name)
	if err == nil && d > 0 {
		_, err = e.until(rec, d, func() bool { return false })
	}
	return err
}

func (e *engine) await(s flow.Step, rec *flow.Record) (o Outcome, err error) {
	var w flow.Wait
	if err := json.Unmarshal(s.Input, &w); err != nil {
		return o, err
	}
	find := func() int {
		return slices.IndexFunc(e.j.Queue, func(sig letter) bool { return slices.Contains(w.Signals, sig.Name) })
	}
	for came := true; ; {
		i := find()
		if i >= 0 {
			sig := e.j.Queue[i]
			e.j.Queue = slices.Delete(e.j.Queue, i, i+1)
			if s.Accepts(sig.Signal) != nil {
				continue // discarded: it still waits
			}
			o.log = sig.Log
			o.Output, err = json.Marshal(sig.Signal)
			return o, err
		}
		if e.lost() {
			return lost, nil
		}
		if w.Timeout < 0 || !came {
			o.Failure = &flow.Failure{Code: flow.TimedOut, Message: "nobody answered in time"}
			return o, nil
		}
		if came, err = e.ask(s, w, rec, func() bool { return find() >= 0 }); err != nil && !e.lost() {
			return o, err
		}
	}
}

// ask asks a person, and waits for a signal.
func (e *engine) ask(s flow.Step, w flow.Wait, rec *flow.Record, ok func() bool) (came bool, err error) {
	if rec.Deadline.IsZero() { // the host's journal has it from now on
		if _, err := e.activity(s); err != nil || ok() {
			return true, err
		}
	}
	q := asked{Question: jobs.Ask(s.Path, w, workflow.Now(e.ctx))}
	if e.j.Scope != "" {
		q.Child = workflow.GetInfo(e.ctx).WorkflowExecution.ID
	}
	tell := func(ctx workflow.Context) {
		if root := workflow.GetInfo(ctx).RootWorkflowExecution; q.Child != "" && root != nil {
			_ = workflow.SignalExternalWorkflow(ctx, root.ID, "", askedName, q).Get(ctx, nil) // it is gone only if it was ended by force
		}
	}
	e.j.asked[s.Path] = asked{Question: q.Question}
	tell(e.ctx)
	e.j.show()
	came, err = e.until(rec, max(0, w.Timeout), ok)
	delete(e.j.asked, s.Path)
	q.Over = true
	free, stop := workflow.NewDisconnectedContext(e.ctx)
	defer stop()
	tell(free)
	e.j.show()
	return came, err
}

// save keeps a checkpoint and forgets what lies in its scope: what is carried on stays small.
func (e *engine) save(s flow.Step) error {
	var st flow.State
	if err := json.Unmarshal(s.Input, &st); err != nil {
		return err
	}
	maps.DeleteFunc(e.j.Records, func(path string, _ flow.Record) bool { return strings.HasPrefix(path, s.Path) })
	maps.DeleteFunc(e.j.States, func(scope string, _ flow.State) bool { return strings.HasPrefix(scope, s.Path) })
	e.j.States[s.Path] = st
	e.j.Before = append(e.j.Before, flow.Past{Step: s})
	return nil
}

var errLeave = errors.New("the history is long: it goes on in a new execution")

// leave reports whether the run goes on in a new execution before it asks for another step.
// Branches stop at their next steps.
func (e *engine) leave(kind string) bool {
	switch kind {
	case flow.KindCall, flow.Note, flow.KindSpawn, flow.Return:
		return false
	}
	info := workflow.GetInfo(e.ctx)
	j := e.j
	j.leaving = j.leaving || info.GetContinueAsNewSuggested() || j.Long > 0 && info.GetCurrentHistoryLength() >= j.Long
	return j.leaving
}

// Spawn implements flow.Spawner: a sub-agent is a child workflow, with a history of its own.
func (e *engine) Spawn(label, scope string, wf flow.Workflow, in json.RawMessage, within time.Duration) (json.RawMessage, error) {
	rec, known := e.j.Records[scope] // of an earlier execution, too
	if !known {
		if e.ended != nil {
			return nil, e.ended
		}
		if e.lost() {
			return nil, &flow.StepError{Path: scope, Kind: flow.KindSpawn, Name: label, Failure: *lost.Failure}
		}
		info := workflow.GetInfo(e.ctx)
		id := info.WorkflowExecution.ID
		if root := info.RootWorkflowExecution; root != nil {
			id = root.ID
		}
		ctx := workflow.WithChildOptions(e.ctx, workflow.ChildWorkflowOptions{
			WorkflowID: id + "/" + strings.TrimSuffix(scope, "."), WaitForCancellation: true, StaticSummary: label,
			ParentClosePolicy: enums.PARENT_CLOSE_POLICY_REQUEST_CANCEL,
		})
		child := Carry{Placed: e.j.Placed, Scope: scope, Within: within, Before: e.j.Before, AtOnce: e.j.AtOnce, Stopped: e.j.Stopped, Long: e.j.Long,
			States: below(e.j.States, scope), Records: below(e.j.Records, scope)} // of an earlier run
		child.Workflow, child.Input = wf.Name, in
		e.j.Before = nil
		own := id + "/" + strings.TrimSuffix(scope, ".")
		e.j.children[own] = true
		err := workflow.ExecuteChildWorkflow(ctx, label, child).Get(ctx, &rec.Output)
		delete(e.j.children, own)
		if err != nil {
			if e.lost() {
				return nil, &flow.StepError{Path: scope, Kind: flow.KindSpawn, Name: label, Failure: *lost.Failure}
			}
			e.ended = fmt.Errorf("sub-agent %s: %w", scope, err)
			return nil, e.ended
		}
		e.j.Records[scope] = rec
	}
	end := new(End)
	if err := json.Unmarshal(rec.Output, end); err != nil {
		return nil, err
	}
	if !known {
		e.j.Before = append(e.j.Before, end.Before...)
	}
	if end.Code != jobs.Done {
		return end.Output, end
	}
	return end.Output, nil
}

// below takes what lies in a scope out of m.
func below[V any](m map[string]V, scope string) map[string]V {
	out := maps.Clone(m)
	maps.DeleteFunc(out, func(path string, _ V) bool { return !strings.HasPrefix(path, scope) })
	maps.DeleteFunc(m, func(path string, _ V) bool { return strings.HasPrefix(path, scope) })
	return out
}

// Fork implements flow.Engine: branches are coroutines.
func (e *engine) Fork(n int, branch func(int, flow.Engine)) {
	e.fork(n, e.race, func(i int, own *engine, _ func()) { branch(i, own) })
}

// Race implements flow.Racer: what is under way in the branches that have lost is cancelled.
func (e *engine) Race(n int, branch func(int, flow.Engine, func())) {
	e.fork(n, true, func(i int, own *engine, win func()) { branch(i, own, win) })
}

func (e *engine) fork(n int, race bool, branch func(i int, own *engine, win func())) {
	own, stops := make([]*engine, n), make([]workflow.CancelFunc, n)
	for i := range n {
		own[i] = &engine{j: e.j, race: race}
		own[i].ctx, stops[i] = workflow.WithCancel(e.ctx)
	}
	wg := workflow.NewWaitGroup(e.ctx)
	wg.Add(n)
	for i := range n {
		workflow.Go(own[i].ctx, func(ctx workflow.Context) {
			defer wg.Done()
			own[i].ctx = ctx
			branch(i, own[i], func() {
				for k, stop := range stops {
					if k != i {
						stop()
					}
				}
			})
		})
	}
	wg.Wait(e.ctx)
	for i, b := range own {
		if stops[i](); b.ended != nil && e.ended == nil {
			e.ended = b.ended
		}
	}
}
