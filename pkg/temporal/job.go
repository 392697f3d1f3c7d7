// Package temporal runs jobs on a Temporal cluster, for more than one machine. Temporal
// decides, the host performs: the function of a workflow runs in a Temporal workflow, and
// each of its steps is an activity on the queue of the job's host, which performs it with
// the engine that jobs of one machine have, over the store of its own data directory.
// Intent, outcome, retries, redaction, events, undo and diff have one implementation.
//
// The package is a module of its own, which nothing of adroit imports: a program that uses
// adroit as a library links nothing of it. pkg/temporal/cmd/adroit-worker is adroit with it.
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
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// Queue is the task queue that all workers poll, for the tasks of workflows and for jobs
// that have no host yet. Each host polls a queue of its own name besides.
const Queue = "adroit"

// What a job's workflow understands. One signal carries all flow.Signals, in their order.
const (
	signalName  = "adroit.signal" // a flow.Signal
	askedName   = "adroit.asked"  // of a sub-agent's workflow to the job's: an asked
	resumeName  = "adroit.resume" // a blocked job is tried once more
	answerName  = "answer"        // update: a flow.Signal that answers a question
	startName   = "start"         // update: the job, which was placed, begins
	placedName  = "placed"        // update: waits until the job has a host, and returns its Placed
	statusQuery = "status"        // query: a Status
)

// Search attributes of jobs, by which Temporal's own interface finds them.
var (
	AttributeStatus = temporal.NewSearchAttributeKeyKeyword("AdroitStatus")
	AttributeHost   = temporal.NewSearchAttributeKeyKeyword("AdroitHost")
	AttributeAgent  = temporal.NewSearchAttributeKeyKeyword("AdroitAgent")
	AttributeModel  = temporal.NewSearchAttributeKeyKeyword("AdroitModel")
)

// mostBytes bounds an input or an output of a step that goes through Temporal, whose
// servers refuse payloads of more than 2 MB for ever.
const mostBytes = 1 << 20

// A Carry is what an execution of a job's workflow begins with, and what it hands to the
// next one: all that it knows. It needs no checkpoint.
type Carry struct {
	Request json.RawMessage `json:"request,omitempty"` // adroit.Request of a job without a host
	On      string          `json:"on,omitempty"`      // the host that was asked for; empty: the first that polls
	Started bool            `json:"started,omitempty"`
	Placed
	Scope   string                 `json:"scope,omitempty"` // of a sub-agent
	Within  time.Duration          `json:"within_ns,omitempty"`
	States  map[string]flow.State  `json:"states,omitempty"`
	Records map[string]flow.Record `json:"records,omitempty"` // of a wait also while it lasts
	Queue   []flow.Signal          `json:"queue,omitempty"`
	Before  []flow.Past            `json:"before,omitempty"` // of the next task
	Long    int                    `json:"long,omitempty"`   // events after which it continues as new; 0: when the server advises it
}

// A Placed is a job that a host has taken.
type Placed struct {
	Host     string          `json:"host,omitempty"`
	Job      string          `json:"job,omitempty"`
	Workflow string          `json:"workflow,omitempty"`
	Agent    string          `json:"agent,omitempty"`
	Model    string          `json:"model,omitempty"`
	Title    string          `json:"title,omitempty"`
	Input    json.RawMessage `json:"input,omitempty"`
}

// An Outcome is what performing a step came to.
type Outcome struct {
	Output  json.RawMessage `json:"output,omitempty"`
	Failure *flow.Failure   `json:"failure,omitempty"`
}

// An End is how a job or a sub-agent has ended. As an error, it is what its workflow
// returned.
type End struct {
	Job    string          `json:"job"`
	Before []flow.Past     `json:"before,omitempty"`
	Code   jobs.Status     `json:"status"`
	Why    string          `json:"reason,omitempty"`
	Output json.RawMessage `json:"output,omitempty"`
}

func (e *End) Error() string  { return e.Why }
func (e *End) Status() string { return string(e.Code) }
func (e *End) Reason() string { return e.Why }

// A Status is how a job stands, for the query of that name.
type Status struct {
	Status    string          `json:"status"`
	Host      string          `json:"host,omitempty"`
	Reason    string          `json:"reason,omitempty"`
	Questions []jobs.Question `json:"questions,omitempty"`
}

// An asked is a question of a sub-agent, whose workflow takes the answer.
type asked struct {
	Child    string        `json:"child,omitempty"` // the id of its workflow; empty: the job's own
	Question jobs.Question `json:"question"`
	Over     bool          `json:"over,omitempty"`
}

// A job is one execution of the workflow of a job, or of a sub-agent.
type job struct {
	Carry
	ctx     workflow.Context
	asked   map[string]asked
	leaving bool
	away    int // steps that wait for the host
	reason  string
	refused error // nobody takes the job
	resume  int
}

// run is the body of each workflow. A Temporal workflow of a job has the job's id; its type
// is the agent or pipeline, for people who look.
func run(ctx workflow.Context, known []flow.Workflow, c Carry) (json.RawMessage, error) {
	j := &job{Carry: c, ctx: ctx, asked: map[string]asked{}}
	if j.States == nil {
		j.States = map[string]flow.State{}
	}
	if j.Records == nil {
		j.Records = map[string]flow.Record{}
	}
	if err := j.serve(); err != nil {
		return nil, err
	}
	if j.Host == "" {
		if j.refused = j.place(); j.refused != nil {
			return nil, j.refused
		}
	}
	if err := workflow.Await(ctx, func() bool { return j.Started || j.Scope != "" }); err != nil {
		return nil, j.finish(&End{Job: j.Job, Code: jobs.Cancelled, Why: "cancelled"})
	}
	j.show()
	i := slices.IndexFunc(known, func(w flow.Workflow) bool { return w.Name == j.Workflow })
	if i < 0 {
		panic(fmt.Sprintf("this worker has no workflow %q: the job goes on with a worker that has it", j.Workflow))
	}
	e := &engine{ctx: ctx, j: j}
	r := flow.NewRun(j.Job, e)
	if j.Scope != "" {
		r = flow.NewChild(j.Job, j.Scope, e, j.Within)
	}
	out, err := known[i].Run(r.With(known...), j.Input)
	if e.ended != nil {
		err = e.ended
	}
	switch {
	case errors.As(err, new(*flow.DivergedError)):
		panic(err) // the task fails and is tried again: the run is blocked, not lost
	case errors.Is(err, errLeave):
		j.drain()
		return nil, workflow.NewContinueAsNewError(ctx, workflow.GetInfo(ctx).WorkflowType.Name, j.Carry)
	}
	end := j.end(out, err)
	if j.Scope != "" && ctx.Err() == nil {
		return json.Marshal(end)
	}
	return out, j.finish(end)
}

// drain takes the signals that the execution has and has not read yet.
func (j *job) drain() {
	in := workflow.GetSignalChannel(j.ctx, signalName)
	for sig := (flow.Signal{}); in.ReceiveAsync(&sig); sig = (flow.Signal{}) {
		j.Queue = append(j.Queue, sig)
	}
}

// end is how the workflow has ended.
func (j *job) end(out json.RawMessage, err error) *End {
	end := &End{Before: j.Before, Job: j.Job, Output: out}
	var own interface {
		error
		Status() string
	}
	ended := new(temporal.ApplicationError)
	switch end.Code, end.Why = jobs.Verdict(err); {
	case errors.As(err, &own):
	case errors.As(err, &ended) && ended.Type() == string(jobs.Cancelled), j.ctx.Err() != nil:
		end.Code, end.Why = jobs.Cancelled, "cancelled"
	case errors.As(err, &ended):
		end.Why = ended.Message()
	}
	return end
}

// place has a host take the job, which resolves the request with its own configuration.
func (j *job) place() error {
	ctx := workflow.WithActivityOptions(j.ctx, workflow.ActivityOptions{
		TaskQueue: cmp.Or(j.On, workflow.GetInfo(j.ctx).TaskQueueName), StartToCloseTimeout: 10 * time.Minute, HeartbeatTimeout: heartbeat, Summary: "find a host",
	})
	j.reason = "waits for a host" + map[bool]string{true: " named " + j.On}[j.On != ""]
	j.show()
	err := workflow.ExecuteActivity(ctx, "place", j.Request, workflow.GetInfo(j.ctx).WorkflowExecution.ID).Get(ctx, &j.Placed)
	if err != nil {
		return err
	}
	j.Request, j.reason = nil, ""
	return workflow.UpsertTypedSearchAttributes(j.ctx, AttributeHost.ValueSet(j.Host), AttributeAgent.ValueSet(cmp.Or(j.Agent, "-")), AttributeModel.ValueSet(cmp.Or(j.Model, "-")))
}

// status is how the job stands.
func (j *job) status() Status {
	s := Status{Status: string(jobs.Running), Host: j.Host, Reason: j.reason}
	for _, path := range slices.SortedFunc(maps.Keys(j.asked), flow.Compare) {
		s.Questions = append(s.Questions, j.asked[path].Question)
	}
	switch {
	case !j.Started:
		s.Status = string(jobs.Queued)
	case j.reason != "" && j.away == 0:
		s.Status = string(jobs.Blocked)
	case j.away > 0:
		s.Status, s.Reason = string(jobs.Interrupted), "waits for its host, "+j.Host+", which is away"
	case len(s.Questions) > 0:
		s.Status = string(jobs.Waiting)
	}
	return s
}

// show shows how the job stands in Temporal's own interface.
func (j *job) show() {
	s := j.status()
	if j.Scope == "" {
		_ = workflow.UpsertTypedSearchAttributes(j.ctx, AttributeStatus.ValueSet(s.Status)) // it fails for no value
	}
	text := s.Status
	if s.Host != "" {
		text += " on " + s.Host
	}
	if s.Reason != "" {
		text += ": " + s.Reason
	}
	for _, q := range s.Questions {
		text += "\n\nwaits for " + strings.Join(q.Signals, " or ") + "\n\n    " + string(q.About)
	}
	workflow.SetCurrentDetails(j.ctx, text)
}

// serve takes signals and updates.
func (j *job) serve() error {
	workflow.Go(j.ctx, func(ctx workflow.Context) {
		in := workflow.GetSignalChannel(ctx, signalName)
		for {
			var sig flow.Signal
			in.Receive(ctx, &sig)
			j.take(ctx, sig)
		}
	})
	workflow.Go(j.ctx, func(ctx workflow.Context) {
		in := workflow.GetSignalChannel(ctx, askedName)
		for {
			var a asked
			in.Receive(ctx, &a)
			if j.asked[a.Question.Path] = a; a.Over {
				delete(j.asked, a.Question.Path)
			}
			j.show()
		}
	})
	workflow.Go(j.ctx, func(ctx workflow.Context) {
		in := workflow.GetSignalChannel(ctx, resumeName)
		for {
			in.Receive(ctx, nil)
			j.resume++
		}
	})
	return errors.Join(
		workflow.SetUpdateHandlerWithOptions(j.ctx, answerName, func(ctx workflow.Context, sig flow.Signal) (string, error) {
			j.take(ctx, sig)
			return sig.Name, nil
		}, workflow.UpdateHandlerOptions{Description: "answer a question of the job", Validator: func(_ workflow.Context, sig flow.Signal) error { return j.answers(sig) }}),
		workflow.SetUpdateHandler(j.ctx, startName, func(workflow.Context) error { j.Started = true; j.show(); return nil }),
		workflow.SetUpdateHandler(j.ctx, placedName, func(ctx workflow.Context) (Placed, error) {
			err := workflow.Await(ctx, func() bool { return j.Host != "" || j.refused != nil })
			return j.Placed, errors.Join(err, j.refused)
		}),
		workflow.SetQueryHandler(j.ctx, statusQuery, func() (Status, error) { return j.status(), nil }),
	)
}

// answers reports why a signal answers no question, nil if it does.
func (j *job) answers(sig flow.Signal) error {
	for _, path := range slices.SortedFunc(maps.Keys(j.asked), flow.Compare) {
		a := j.asked[path]
		if slices.Contains(a.Question.Signals, sig.Name) && !slices.ContainsFunc(j.Queue, func(q flow.Signal) bool { return slices.Contains(a.Question.Signals, q.Name) }) {
			return flow.Wait{Type: a.Question.Type}.Accepts(sig.Value)
		}
	}
	return fmt.Errorf("nothing waits for %q", sig.Name)
}

// take queues a signal, or passes it to the sub-agent that asked for it.
func (j *job) take(ctx workflow.Context, sig flow.Signal) {
	for _, path := range slices.SortedFunc(maps.Keys(j.asked), flow.Compare) {
		if a := j.asked[path]; a.Child != "" && slices.Contains(a.Question.Signals, sig.Name) {
			if workflow.SignalExternalWorkflow(ctx, a.Child, "", signalName, sig).Get(ctx, nil) == nil {
				return
			}
		}
	}
	j.Queue = append(j.Queue, sig)
}

// finish has the host record how the job has ended.
func (j *job) finish(end *End) error {
	ctx, stop := workflow.NewDisconnectedContext(j.ctx)
	defer stop()
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: j.Host, StartToCloseTimeout: 10 * time.Minute, HeartbeatTimeout: heartbeat, Summary: "record how it ended: " + string(end.Code),
		ScheduleToStartTimeout: hostPatience,
	})
	for {
		err := workflow.ExecuteActivity(ctx, "finish", end).Get(ctx, &end.Code)
		if !notBegun(err) {
			if err != nil {
				return err
			}
			break
		}
		j.away = 1
		j.show()
	}
	_ = workflow.UpsertTypedSearchAttributes(ctx, AttributeStatus.ValueSet(string(end.Code)))
	switch {
	case end.Code == jobs.Cancelled:
		return temporal.NewCanceledError()
	case end.Code.Succeeded():
		return nil
	}
	return temporal.NewNonRetryableApplicationError(end.Why, string(end.Code), nil)
}

// notBegun reports whether nobody took an activity: the host is away.
func notBegun(err error) bool {
	var timeout *temporal.TimeoutError
	return errors.As(err, &timeout) && timeout.TimeoutType() == enums.TIMEOUT_TYPE_SCHEDULE_TO_START
}
