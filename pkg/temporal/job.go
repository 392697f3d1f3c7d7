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
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/adroit-run/adroit/internal/work/sandbox"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// Queue is the task queue that all workers poll, for the tasks of workflows and for jobs
// that have no host yet. Each host polls a queue of its own name besides.
const Queue = "adroit"

// What a job's workflow understands. One signal carries all flow.Signals, in their order.
const (
	signalName  = "adroit.signal" // a letter
	askedName   = "adroit.asked"  // of a sub-agent's workflow to the job's: an asked
	startName   = "start"         // update, and signal to sub-agents: it goes on; with the bound of jobs at once
	stopName    = "stop"          // update, and signal to sub-agents: it is interrupted; with the reason
	statusQuery = "status"        // query: a Status
)

// Search attributes of jobs, by which Temporal's own interface finds them.
var (
	AttributeStatus = temporal.NewSearchAttributeKeyKeyword("AdroitStatus")
	AttributeHost   = temporal.NewSearchAttributeKeyKeyword("AdroitHost")
	AttributeAgent  = temporal.NewSearchAttributeKeyKeyword("AdroitAgent")
	AttributeModel  = temporal.NewSearchAttributeKeyKeyword("AdroitModel")
	AttributeCost   = temporal.NewSearchAttributeKeyFloat64("AdroitCost") // in USD, when it has ended
)

// mostBytes bounds an input or an output of a step that goes through Temporal, whose
// servers refuse payloads of more than 2 MB for ever.
const mostBytes = 1 << 20

// tooBig explains that something has more bytes than go through Temporal.
func tooBig(n, most int) string {
	text := fmt.Sprintf("%d bytes, and at most %d go through Temporal", n, most)
	if most < mostStored {
		text += "; temporal.store names a directory for larger ones"
	}
	return text
}

// A Carry is the state from which an execution of a job's workflow begins, and which it passes
// to the next one, complete. It needs no checkpoint.
type Carry struct {
	On     string `json:"on,omitempty"`      // the host of the job, until it is opened there
	Note   string `json:"note,omitempty"`    // for its events, of one that goes on after its end
	AtOnce int    `json:"at_once,omitempty"` // how many jobs of the host run at once; 0 is its own bound
	Placed
	Scope   string                 `json:"scope,omitempty"` // of a sub-agent
	Within  time.Duration          `json:"within_ns,omitempty"`
	States  map[string]flow.State  `json:"states,omitempty"`
	Records map[string]flow.Record `json:"records,omitempty"` // of a wait also while it lasts
	Queue   []letter               `json:"queue,omitempty"`
	Before  []flow.Past            `json:"before,omitempty"`  // of the next task
	Stopped string                 `json:"stopped,omitempty"` // why it does not go on at the moment
	Turn    int                    `json:"turn,omitempty"`    // of the job's own model, for people
	Seen    []int64                `json:"seen,omitempty"`    // when the letters were sent that came last
	Long    int                    `json:"long,omitempty"`    // events after which it continues as new; 0: when the server advises it
}

// A letter is a signal. Log names the sender, if the host does not know it.
type letter struct {
	flow.Signal
	Sent int64        `json:"sent,omitempty"` // in nanoseconds, of one that the host keeps, too: what it is known by
	Log  *event.Event `json:"log,omitempty"`
}

// post makes a letter of a signal that its host keeps.
func post(sig flow.Signal) letter { return letter{Signal: sig, Sent: sig.Sent.UnixNano()} }

// A Placed is a job as its host has it.
type Placed struct {
	Host     string          `json:"host,omitempty"`
	Job      string          `json:"job,omitempty"`
	Workflow string          `json:"workflow,omitempty"`
	Agent    string          `json:"agent,omitempty"`
	Model    string          `json:"model,omitempty"`
	Title    string          `json:"title,omitempty"`
	Input    json.RawMessage `json:"input,omitempty"`
	// What another host needs to go on: see move.go. Dir is the repository of a job that has a
	// worktree, empty for any other.
	Dir     string        `json:"dir,omitempty"`
	Base    string        `json:"base,omitempty"` // the commit at which the worktree began
	Sandbox sandbox.Level `json:"sandbox,omitempty"`
	BaseURL string        `json:"base_url,omitempty"`
}

// An opened is a job whose host has begun to work for it, with what it knows of earlier runs.
type opened struct {
	Placed
	States  map[string]flow.State  `json:"states,omitempty"`
	Records map[string]flow.Record `json:"records,omitempty"`
	Queue   []letter               `json:"queue,omitempty"`
}

// An Outcome is the result of performing a step.
type Outcome struct {
	Output  json.RawMessage `json:"output,omitempty"`
	Failure *flow.Failure   `json:"failure,omitempty"`
	log     *event.Event    // of a signal
}

// An End is the end of a job or a sub-agent. As an error, it is its workflow's.
type End struct {
	Job    string          `json:"job"`
	Before []flow.Past     `json:"before,omitempty"`
	Code   jobs.Status     `json:"status"`
	Why    string          `json:"reason,omitempty"`
	Output json.RawMessage `json:"output,omitempty"`
}

// A recorded is the result of recording an end. A job that is queued again goes on: a message
// came in the moment in which it ended.
type recorded struct {
	Status jobs.Status `json:"status"`
	Cost   float64     `json:"cost_usd,omitempty"`
}

func (e *End) Error() string  { return e.Why }
func (e *End) Status() string { return string(e.Code) }
func (e *End) Reason() string { return e.Why }

// A Status is a job's status, for the query of that name.
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
	ctx      workflow.Context
	most     int // bytes of an input of a step
	asked    map[string]asked
	children map[string]bool             // ids of the workflows of sub-agents
	under    map[int]workflow.CancelFunc // activities under way
	begun    int                         // activities
	leaving  bool
	ending   bool
	passing  int    // letters on their way to sub-agents, or back into the queue
	away     int    // steps that wait for the host
	reason   string // why it is blocked
	doing    string
	shown    string // status
	resume   int
}

// run is the body of each workflow. A Temporal workflow of a job has the job's id; its type
// is the agent or pipeline, for people who look.
func run(ctx workflow.Context, known []flow.Workflow, most int, c Carry) (json.RawMessage, error) {
	j := &job{Carry: c, ctx: ctx, most: most, asked: map[string]asked{}, children: map[string]bool{}, under: map[int]workflow.CancelFunc{}}
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
		if err := j.open(); err != nil {
			return nil, j.finish(j.end(nil, err))
		}
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
		free, stop := workflow.NewDisconnectedContext(ctx)
		defer stop()
		if err := workflow.Await(free, func() bool { return j.passing == 0 }); err != nil {
			return nil, err
		}
		j.drain()
		return nil, workflow.NewContinueAsNewError(ctx, workflow.GetInfo(ctx).WorkflowType.Name, j.Carry)
	}
	end := j.end(out, err)
	if j.Scope != "" && ctx.Err() == nil {
		return json.Marshal(end)
	}
	return out, j.finish(end)
}

// decide is the workflow of each job, for the SDK.
func decide(known []flow.Workflow, most int) func(workflow.Context, converter.EncodedValues) (json.RawMessage, error) {
	return func(ctx workflow.Context, args converter.EncodedValues) (json.RawMessage, error) {
		var c Carry
		if err := args.Get(&c); err != nil {
			return nil, err
		}
		return run(ctx, known, most, c)
	}
}

// drain takes the signals that the execution has and has not read yet. Questions of sub-agents
// are not among them: a sub-agent has ended before its parent goes on in a new execution.
func (j *job) drain() {
	in := workflow.GetSignalChannel(j.ctx, signalName)
	for l := (letter{}); in.ReceiveAsync(&l); l = (letter{}) {
		if !j.seen(l) {
			j.Queue = append(j.Queue, l)
		}
	}
	why := ""
	for in := workflow.GetSignalChannel(j.ctx, stopName); in.ReceiveAsync(&why); {
		j.Stopped = cmp.Or(why, jobs.ErrStopped.Error())
	}
	atOnce := 0
	for in := workflow.GetSignalChannel(j.ctx, startName); in.ReceiveAsync(&atOnce); {
		j.Stopped, j.AtOnce = "", cmp.Or(atOnce, j.AtOnce)
	}
}

// end returns the workflow's end.
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

// open has the host begin: with the input as it resolved it, and, of a job that ran before,
// with what its journal has.
func (j *job) open() error {
	id := workflow.GetInfo(j.ctx).WorkflowExecution.ID
	j.Host, j.Job = j.On, id
	var o opened
	err := j.ask(j.ctx, "open", workflow.ActivityOptions{Summary: "open the job"}, opening{id, j.Note, j.AtOnce}, &o)
	if err != nil {
		return err
	}
	j.Placed, j.On, j.Note = o.Placed, "", ""
	maps.Copy(j.States, o.States)
	maps.Copy(j.Records, o.Records)
	// The host passes on what its store has, too, perhaps only after this. What came before is
	// behind what it has had for longer.
	early := j.Queue
	j.Queue = nil
	for _, l := range o.Queue {
		if !slices.ContainsFunc(early, func(e letter) bool { return e.Sent == l.Sent }) && j.seen(l) {
			continue
		}
		j.Queue = append(j.Queue, l)
	}
	for _, l := range early {
		if l.Sent == 0 || !slices.ContainsFunc(o.Queue, func(k letter) bool { return k.Sent == l.Sent }) {
			j.Queue = append(j.Queue, l)
		}
	}
	return nil
}

// ask has the host perform an activity, past times in which it is away, or the job is stopped
// or blocked. What was begun before, its journal knows.
func (j *job) ask(ctx workflow.Context, name string, o workflow.ActivityOptions, in, out any) error {
	o.TaskQueue, o.HeartbeatTimeout, o.ScheduleToStartTimeout, o.WaitForCancellation = j.Host, heartbeat, hostPatience, true
	o.StartToCloseTimeout = 24 * time.Hour // the host keeps the limit of the route
	o.RetryPolicy = &temporal.RetryPolicy{InitialInterval: time.Second, MaximumInterval: time.Minute}
	ctx = workflow.WithActivityOptions(ctx, o)
	for away, stops := false, 0; ; {
		if err := workflow.Await(ctx, func() bool { return j.Stopped == "" }); err != nil {
			return err
		}
		own, stop := workflow.WithCancel(ctx)
		j.begun++
		n := j.begun
		j.under[n] = stop
		err := workflow.ExecuteActivity(own, name, in).Get(own, out)
		stopped := own.Err() != nil || j.Stopped != "" // the stop may be over by now
		delete(j.under, n)
		stop()
		blocked := new(temporal.ApplicationError)
		switch {
		case err == nil || ctx.Err() != nil:
			return err
		case stopped && o.ActivityID != "": // it was stopped with the job, and is asked for as another one
			stops++
			again := o
			again.ActivityID = fmt.Sprintf("%s~%d", o.ActivityID, stops)
			ctx = workflow.WithActivityOptions(ctx, again)
		case stopped:
		case notBegun(err) && !away: // nobody polls for the host
			away = true
			j.away++
			j.show()
			defer func() { j.away--; j.show() }()
		case notBegun(err):
		case errors.As(err, &blocked) && blocked.Type() == string(jobs.Blocked):
			if err := j.blocked(ctx, blocked.Message()); err != nil {
				return err
			}
		default:
			return err
		}
	}
}

// blocked waits until a person has a job tried once more that its host refuses to go on with.
func (j *job) blocked(ctx workflow.Context, why string) error {
	j.reason = why
	j.show()
	seen := j.resume
	err := workflow.Await(ctx, func() bool { return j.resume > seen })
	j.reason = ""
	j.show()
	return err
}

// status returns the job's status.
func (j *job) status() Status {
	s := Status{Status: string(jobs.Running), Host: j.Host, Reason: j.reason}
	for _, path := range slices.SortedFunc(maps.Keys(j.asked), flow.Compare) {
		s.Questions = append(s.Questions, j.asked[path].Question)
	}
	switch {
	case j.Stopped != "":
		s.Status, s.Reason = string(jobs.Interrupted), j.Stopped
	case j.reason != "" && j.away == 0:
		s.Status = string(jobs.Blocked)
	case j.away > 0:
		s.Status, s.Reason = string(jobs.Interrupted), "waits for its host, "+j.Host+", which is away"
	case len(s.Questions) > 0:
		s.Status = string(jobs.Waiting)
	case j.On != "":
		s.Status = string(jobs.Queued)
	}
	return s
}

// show shows how the job stands in Temporal's own interface.
func (j *job) show() {
	s := j.status()
	if j.Scope == "" && s.Status != j.shown {
		j.shown = s.Status
		_ = workflow.UpsertTypedSearchAttributes(j.ctx, AttributeStatus.ValueSet(s.Status)) // it fails for no value
	}
	text := s.Status + " on " + s.Host
	if j.Turn > 0 {
		text += fmt.Sprintf(", turn %d", j.Turn)
	}
	if s.Status == string(jobs.Running) && j.doing != "" {
		text += ", " + j.doing
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
	listen(j.ctx, signalName, func(ctx workflow.Context, l letter) {
		if !j.seen(l) {
			j.take(ctx, l)
		}
	})
	listen(j.ctx, askedName, func(ctx workflow.Context, a asked) {
		if j.asked[a.Question.Path] = a; a.Over {
			delete(j.asked, a.Question.Path)
		}
		j.passOn(ctx) // the answer may have come first
		j.show()
	})
	listen(j.ctx, startName, j.goOn)
	listen(j.ctx, stopName, j.stop)
	return errors.Join(
		workflow.SetUpdateHandler(j.ctx, startName, func(ctx workflow.Context, atOnce int) error {
			if j.ending {
				return errEnding
			}
			j.goOn(ctx, atOnce)
			return nil
		}),
		workflow.SetUpdateHandler(j.ctx, stopName, func(ctx workflow.Context, why string) error {
			j.stop(ctx, why)
			ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
				TaskQueue: j.Host, StartToCloseTimeout: time.Minute, ScheduleToStartTimeout: stopPatience, RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1}, Summary: "stop: " + why,
			})
			return workflow.ExecuteActivity(ctx, "leave", j.Job, why).Get(ctx, nil)
		}),
		workflow.SetQueryHandler(j.ctx, statusQuery, func() (Status, error) { return j.status(), nil }),
	)
}

// mostSeen bounds the letters that a job remembers.
const mostSeen = 64

// seen reports whether a letter came before, and keeps that it has come now.
func (j *job) seen(l letter) bool {
	if l.Sent == 0 {
		return false
	}
	if slices.Contains(j.Seen, l.Sent) {
		return true
	}
	if j.Seen = append(j.Seen, l.Sent); len(j.Seen) > mostSeen {
		j.Seen = slices.Delete(j.Seen, 0, 1)
	}
	return false
}

// errEnding refuses what comes in the moment in which a job ends.
var errEnding = errors.New("the job is about to end")

// stopPatience bounds a stop's wait for the host of a job.
const stopPatience = 5 * time.Second

// listen has take take each signal of a name.
func listen[T any](ctx workflow.Context, name string, take func(workflow.Context, T)) {
	workflow.Go(ctx, func(ctx workflow.Context) {
		in := workflow.GetSignalChannel(ctx, name)
		for {
			var v T
			in.Receive(ctx, &v)
			take(ctx, v)
		}
	})
}

// stop stops what is under way, here and in sub-agents, until goOn.
func (j *job) stop(ctx workflow.Context, why string) {
	j.Stopped = cmp.Or(why, jobs.ErrStopped.Error())
	for _, n := range slices.Sorted(maps.Keys(j.under)) {
		j.under[n]()
	}
	j.tellChildren(ctx, stopName, why)
	j.show()
}

func (j *job) goOn(ctx workflow.Context, atOnce int) {
	j.Stopped, j.AtOnce = "", cmp.Or(atOnce, j.AtOnce)
	j.resume++
	j.tellChildren(ctx, startName, atOnce)
	j.show()
}

func (j *job) tellChildren(ctx workflow.Context, name string, value any) {
	for _, id := range slices.Sorted(maps.Keys(j.children)) {
		_ = workflow.SignalExternalWorkflow(ctx, id, "", name, value).Get(ctx, nil) // it has ended
	}
}

// passOn takes the letters that sub-agents ask for out of the queue, one by one: the others stay in
// it, in their order, while one is on its way.
func (j *job) passOn(ctx workflow.Context) {
	wanted := func(l letter) bool {
		for _, path := range slices.SortedFunc(maps.Keys(j.asked), flow.Compare) {
			if a := j.asked[path]; a.Child != "" && slices.Contains(a.Question.Signals, l.Name) {
				return true
			}
		}
		return false
	}
	n := 0
	for _, l := range j.Queue {
		if wanted(l) {
			n++
		}
	}
	for ; n > 0; n-- {
		i := slices.IndexFunc(j.Queue, wanted)
		if i < 0 {
			return
		}
		l := j.Queue[i]
		j.Queue = slices.Delete(j.Queue, i, i+1)
		j.take(ctx, l)
	}
}

// take queues a signal, or passes it to the sub-agent that asked for it.
func (j *job) take(ctx workflow.Context, l letter) {
	j.passing++
	defer func() { j.passing-- }()
	for _, path := range slices.SortedFunc(maps.Keys(j.asked), flow.Compare) {
		if a := j.asked[path]; a.Child != "" && slices.Contains(a.Question.Signals, l.Name) {
			if workflow.SignalExternalWorkflow(ctx, a.Child, "", signalName, l).Get(ctx, nil) == nil {
				return
			}
		}
	}
	j.Queue = append(j.Queue, l)
}

// finish has the host record how the job has ended.
func (j *job) finish(end *End) error {
	ctx, stop := workflow.NewDisconnectedContext(j.ctx)
	defer stop()
	j.ending = true
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: j.Host, StartToCloseTimeout: 10 * time.Minute, HeartbeatTimeout: heartbeat, Summary: "record how it ended: " + string(end.Code),
		ScheduleToStartTimeout: hostPatience,
	})
	var as recorded
	for {
		err := workflow.ExecuteActivity(ctx, "finish", end).Get(ctx, &as)
		if !notBegun(err) {
			if err != nil {
				return err
			}
			break
		}
		j.away = 1
		j.show()
	}
	if as.Status == jobs.Queued {
		return workflow.NewContinueAsNewError(j.ctx, workflow.GetInfo(ctx).WorkflowType.Name, Carry{On: j.Host, AtOnce: j.AtOnce, Long: j.Long})
	}
	_ = workflow.UpsertTypedSearchAttributes(ctx, AttributeStatus.ValueSet(string(as.Status)), AttributeCost.ValueSet(as.Cost))
	switch {
	case as.Status == jobs.Cancelled:
		return temporal.NewCanceledError()
	case as.Status.Succeeded():
		return nil
	}
	return temporal.NewNonRetryableApplicationError(end.Why, string(as.Status), nil)
}

// notBegun reports whether nobody took an activity: the host is away.
func notBegun(err error) bool {
	var timeout *temporal.TimeoutError
	return errors.As(err, &timeout) && timeout.TimeoutType() == enums.TIMEOUT_TYPE_SCHEDULE_TO_START
}
