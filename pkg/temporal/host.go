package temporal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// Options configure a worker.
type Options struct {
	Host   string // the name of the host, which is its task queue: of one data directory for ever
	Build  string // of the program, to which the jobs that begin with it are pinned; empty: to none
	Queue  string // of workflows and of jobs without a host; empty: Queue
	AtOnce int    // how many steps are performed at once; 0 is 100
	Most   int    // bytes of an input or an output of a step; 0 is 1 MB, as a server takes without a store
}

// self identifies the worker among those of its host.
func (o Options) self() string { return fmt.Sprintf("%s %s %d", o.Host, o.Build, os.Getpid()) }

// A Worker runs the workflows of jobs, and performs the steps of those that its host has,
// with the configuration, keys, tools and store of its Runtime. It is safe for concurrent use.
type Worker struct {
	o       Options
	rt      *adroit.Runtime // nil in tests of the engine
	known   []flow.Workflow
	store   jobs.Store
	attend  func(ctx context.Context, id, note string, atOnce int) (*jobs.Session, error)
	ended   func(*jobs.Job) (goesOn bool)
	workers []worker.Worker
	// describe asks Temporal about the newest workflow of a job.
	describe func(ctx context.Context, id, run string) (*workflowservice.DescribeWorkflowExecutionResponse, error)
	history  func(ctx context.Context, id, run string, follow bool, of enums.HistoryEventFilterType) client.HistoryEventIterator

	ctx  context.Context // of sessions
	stop context.CancelCauseFunc
	mu   sync.Mutex
	open map[string]*held
}

// held is a job whose lease, files and workspace this process has.
type held struct {
	ready chan struct{} // closed when the rest is there
	s     *jobs.Session
	err   error
	stop  context.CancelCauseFunc // of the session, while it waits for a place
}

// What activities are given: a step to perform, and a job to open.
type (
	task struct {
		jobs.Task
		AtOnce int `json:"at_once,omitempty"`
	}
	opening struct {
		Job    string `json:"job"`
		Note   string `json:"note,omitempty"`
		AtOnce int    `json:"at_once,omitempty"`
	}
)

// Work performs the steps of a host's jobs until ctx ends: see [NewWorker]. data is the data
// directory, which keeps the name of the host; host is that name for a directory that has none.
func (t *Cluster) Work(ctx context.Context, rt *adroit.Runtime, data, host string, ready func(host string)) error {
	if err := t.attributes(ctx); err != nil {
		return err
	}
	name, err := t.enter(ctx, data, host)
	if err != nil {
		return err
	}
	if err := t.readable(ctx); err != nil {
		return err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go func() { stop(t.guard(ctx, data, name)) }()
	c, err := client.NewClientFromExistingWithContext(ctx, t.c, t.options(true))
	if err != nil {
		return err
	}
	defer c.Close()
	o := Options{Host: name, Queue: t.queue}
	if o.Build, err = t.build(); err != nil {
		return err
	}
	if t.store.dir != "" {
		o.Most = mostStored
	}
	w, err := NewWorker(ctx, c, rt, o)
	if err != nil {
		return err
	}
	if err := w.Start(); err != nil {
		return err
	}
	if o.Build != "" {
		if err := t.current(ctx, o.Build); err != nil {
			w.Stop()
			return fmt.Errorf("making this program the one with which new jobs begin: %w", err)
		}
		go t.adoptAll(ctx, o.Build, w.known, w.most())
		go t.takeBack(ctx, o.Build)
	}
	ready(name)
	go t.sweepAll(ctx)
	<-ctx.Done()
	w.leaveHost()
	if o.Build != "" {
		t.drained(context.WithoutCancel(ctx), o.Build, name, o.self())
	}
	w.workers[0].Stop()
	if p := new(problem.Error); errors.As(context.Cause(ctx), &p) {
		return p // of guard
	}
	return nil
}

// NewWorker returns a worker with the Runtime of a host. Start begins its work.
func NewWorker(ctx context.Context, c client.Client, rt *adroit.Runtime, o Options) (*Worker, error) {
	m, err := rt.Manager(ctx)
	if err != nil {
		return nil, err
	}
	w := &Worker{o: o, rt: rt, known: m.Workflows, store: m.Store, attend: rt.Attend, ended: rt.Attended}
	return w.on(c), nil
}

// on registers the worker's parts with a cluster.
func (w *Worker) on(c client.Client) *Worker {
	if w.o.Queue == "" {
		w.o.Queue = Queue
	}
	if w.o.AtOnce == 0 {
		w.o.AtOnce = 100
	}
	w.ctx, w.stop = context.WithCancelCause(context.Background())
	w.open = map[string]*held{}
	shared := worker.New(c, w.o.Queue, worker.Options{Identity: w.o.Host, StickyScheduleToStartTimeout: 2 * time.Second, WorkerStopTimeout: 5 * time.Second, MaxHeartbeatThrottleInterval: beat, DeploymentOptions: versioning(w.o.Queue, w.o.Build)})
	own := worker.New(c, w.o.Host, worker.Options{Identity: w.o.self(), DisableWorkflowWorker: true, MaxConcurrentActivityExecutionSize: w.o.AtOnce, WorkerStopTimeout: drainTime, MaxHeartbeatThrottleInterval: beat})
	w.register(shared, own)
	w.workers = []worker.Worker{shared, own}
	w.describe, w.history = c.DescribeWorkflowExecution, c.GetWorkflowHistory
	return w
}

// most is the size of the largest input or output of a step.
func (w *Worker) most() int { return cmp.Or(w.o.Most, mostBytes) }

// drainTime bounds a stopping worker's wait for the steps under way.
const drainTime = 30 * time.Second

// registry is the interface that SDK workers and their test environment share.
type registry interface {
	RegisterDynamicWorkflow(w any, o workflow.DynamicRegisterOptions)
	RegisterWorkflowWithOptions(w any, o workflow.RegisterOptions)
	RegisterActivityWithOptions(a any, o activity.RegisterOptions)
	RegisterDynamicActivity(a any, o activity.DynamicRegisterOptions)
}

func (w *Worker) register(shared, own registry) {
	shared.RegisterDynamicWorkflow(decide(w.known, w.most()), workflow.DynamicRegisterOptions{})
	calls := workflow.RegisterOptions{Name: callName}
	if w.o.Build != "" {
		calls.VersioningBehavior = workflow.VersioningBehaviorAutoUpgrade
	}
	shared.RegisterWorkflowWithOptions(call, calls)
	shared.RegisterActivityWithOptions(w.call, activity.RegisterOptions{Name: callName})
	if own != shared {
		own.RegisterActivityWithOptions(w.call, activity.RegisterOptions{Name: callName})
	}
	for name, f := range map[string]any{"open": w.openJob, "finish": w.finish, "leave": w.stopJob} {
		own.RegisterActivityWithOptions(f, activity.RegisterOptions{Name: name})
	}
	own.RegisterDynamicActivity(func(ctx context.Context, args converter.EncodedValues) (o Outcome, err error) {
		var t task
		if err := args.Get(&t); err != nil {
			return o, temporal.NewNonRetryableApplicationError("decoding step", "step", err)
		}
		return w.perform(ctx, t)
	}, activity.DynamicRegisterOptions{})
}

// Start begins to poll.
func (w *Worker) Start() error {
	for _, sdk := range w.workers {
		if err := sdk.Start(); err != nil {
			return err
		}
	}
	go w.leaveIdle()
	if w.rt != nil {
		go w.reconcile()
	}
	return nil
}

// Stop stops polling, lets the steps under way end, interrupts those that do not in drainTime,
// and gives back all jobs, which go on with the next worker of the host.
func (w *Worker) Stop() {
	w.leaveHost()
	w.workers[0].Stop()
}

// leaveHost ends what the worker does as a host: it performs no more steps, and decides on.
func (w *Worker) leaveHost() {
	w.workers[1].Stop()
	w.stop(jobs.ErrStopped)
	for id := range w.sessions() {
		w.leave(id, jobs.ErrStopped)
	}
}

// drained waits until no job of a build is open, if another worker of the host has taken its steps over
// and another build is the current one. Else nothing keeps the worker from ending.
func (t *Cluster) drained(ctx context.Context, build, host, self string) {
	for ; ; time.Sleep(time.Second) {
		d, err := t.c.WorkerDeploymentClient().GetHandle(t.queue).Describe(ctx, client.WorkerDeploymentDescribeOptions{})
		if err != nil || d.Info.RoutingConfig.CurrentVersion == nil || d.Info.RoutingConfig.CurrentVersion.BuildID == build {
			return
		}
		q, err := t.c.DescribeTaskQueue(ctx, host, enums.TASK_QUEUE_TYPE_ACTIVITY)
		if err != nil || !slices.ContainsFunc(q.Pollers, func(p *taskqueue.PollerInfo) bool {
			return p.Identity != self && !t.older(ctx, p.GetLastAccessTime(), pollerGone)
		}) {
			return
		}
		left := 0
		err = t.open(ctx, func(d *workflowservice.DescribeWorkflowExecutionResponse) error {
			if pinned(d.GetWorkflowExecutionInfo().GetVersioningInfo()) == build {
				left++
			}
			return nil
		})
		if err != nil || left == 0 {
			return
		}
	}
}

// sessions are the open sessions by job.
func (w *Worker) sessions() map[string]*jobs.Session {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := map[string]*jobs.Session{}
	for id, h := range w.open {
		select {
		case <-h.ready:
			if h.s != nil {
				out[id] = h.s
			}
		default:
		}
	}
	return out
}

// leaveIdle gives back the jobs that only wait for a person, so that their workspaces are free
// and their hosts say so.
func (w *Worker) leaveIdle() {
	idle := map[string]bool{}
	for {
		select {
		case <-w.ctx.Done():
			return
		case <-time.After(time.Second):
		}
		now := map[string]bool{}
		for id, s := range w.sessions() {
			switch now[id] = s.Idle(); {
			case s.Ended() != nil, now[id] && idle[id]:
				w.leave(id, jobs.ErrStopped)
			}
		}
		idle = now
	}
}

// reconcileEvery is the interval of checks for jobs whose workflows somebody may have ended.
const reconcileEvery, noRun = 15 * time.Second, "none"

// errLost interrupts a job whose workflow is gone.
var errLost = errors.New("Temporal knows nothing of it any more: somebody deleted its workflow, or the server lost its database")

// reconcile ends the jobs of this host whose workflows were terminated, in Temporal's own interface
// for instance: that runs no code, so nobody else records it. It gives back those whose workflows are
// lost. It has to see so twice, because a job that goes on after its end has its new workflow a moment later.
// A job whose worker died before it recorded that the job waits for a person is opened, and so left as one that waits.
func (w *Worker) reconcile() {
	seen := map[string]string{} // runs by job
	for next := time.Second; ; next = reconcileEvery {
		select {
		case <-w.ctx.Done():
			return
		case <-time.After(next):
		}
		list, err := w.rt.Jobs(w.ctx, adroit.ListOptions{Status: []jobs.Status{jobs.Running, jobs.Waiting, jobs.Queued, jobs.Interrupted}})
		if err != nil {
			continue // next time
		}
		now, open := map[string]string{}, w.sessions()
		for _, j := range list {
			d, err := w.describe(w.ctx, j.ID, "") // one of this machine's own engine is not found
			switch info := d.GetWorkflowExecutionInfo(); {
			case err == nil && info.GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_TERMINATED:
				now[j.ID] = info.GetExecution().GetRunId()
			case errors.As(err, new(*serviceerror.NotFound)) && open[j.ID] != nil: // the server is an empty one
				now[j.ID] = noRun
			case err == nil && j.Status == jobs.Interrupted && open[j.ID] == nil && info.GetCloseTime() == nil && keyword(info, AttributeHost) == w.o.Host && keyword(info, AttributeStatus) == string(jobs.Waiting):
				_, _ = w.session(opening{Job: j.ID, AtOnce: -1}) // else next time
			}
			switch run := now[j.ID]; {
			case run == "" || run != seen[j.ID]:
			case run == noRun:
				w.leave(j.ID, errLost)
			default:
				w.leave(j.ID, jobs.ErrStopped)
				_, _ = w.record(w.ctx, End{Job: j.ID, Code: jobs.Cancelled, Why: w.terminated(j.ID, run)}) // else next time
			}
		}
		seen = now
	}
}

// session opens a job, or returns it as it is open.
func (w *Worker) session(o opening) (*jobs.Session, error) {
	w.mu.Lock()
	h, open := w.open[o.Job]
	var ctx context.Context
	if !open {
		h = &held{ready: make(chan struct{})}
		ctx, h.stop = context.WithCancelCause(w.ctx)
		w.open[o.Job] = h
	}
	w.mu.Unlock()
	if !open {
		if h.err = context.Cause(w.ctx); h.err == nil {
			h.s, h.err = w.attend(ctx, o.Job, o.Note, o.AtOnce)
		}
		if h.err != nil {
			w.forget(o.Job, h)
			h.stop(nil)
		}
		close(h.ready)
	}
	<-h.ready
	return h.s, h.err
}

func (w *Worker) forget(id string, h *held) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open[id] == h {
		delete(w.open, id)
	}
}

// leave gives a job back, which why interrupts unless it waits for a person.
func (w *Worker) leave(id string, why error) {
	w.mu.Lock()
	h := w.open[id]
	delete(w.open, id) // so that nobody else leaves it; the next use opens it anew
	w.mu.Unlock()
	if h == nil {
		return
	}
	select {
	case <-h.ready:
	default:
		h.stop(why) // it waits for a place
		<-h.ready
	}
	if h.s != nil {
		_, _ = h.s.Leave(why) // what was not recorded shows as interrupted when the lease is over
	}
	h.stop(nil)
}

// stopJob interrupts a job.
func (w *Worker) stopJob(_ context.Context, id, why string) error {
	err := jobs.ErrStopped
	if why != "" {
		err = errors.New(why)
	}
	w.leave(id, err)
	return nil
}

// Types of errors of activities. What has no type is tried again.
const (
	refusedType = "refused" // with the problem.Error in its details
	failedType  = string(jobs.Failed)
)

// refusal is a problem that another attempt does not solve, for the caller to read whole.
func refusal(err error) error {
	p := new(problem.Error)
	if !errors.As(problem.AsError(err), &p) {
		p = &problem.Error{Message: err.Error()}
	}
	return temporal.NewApplicationErrorWithOptions(p.Message, refusedType, temporal.ApplicationErrorOptions{NonRetryable: true, Details: []any{p}})
}

// explain decides which errors of a session end the job.
func (w *Worker) explain(id string, err error) error {
	j, unknown := jobs.Find(context.WithoutCancel(w.ctx), w.store, id)
	own := interface{ Status() string }(nil)
	fatal := func(kind jobs.Status, why string) error {
		return temporal.NewNonRetryableApplicationError(why, string(kind), nil)
	}
	switch {
	case errors.Is(unknown, jobs.ErrNotExist):
		return fatal(jobs.Failed, fmt.Sprintf("the host %s has no job %s any more: its data directory is another one", w.o.Host, id))
	case j != nil && (j.Cancel || j.Status == jobs.Cancelled):
		return fatal(jobs.Cancelled, "cancelled")
	case errors.Is(err, jobs.ErrBlocked), j != nil && j.Status == jobs.Blocked:
		return fatal(jobs.Blocked, err.Error())
	case errors.As(err, &own) && own.Status() == string(jobs.Failed):
		return fatal(jobs.Failed, err.Error())
	case j != nil && j.Status.Final():
		return fatal(j.Status, fmt.Sprintf("it has ended: %s", j.Status.Words()))
	}
	return err
}

// openJob begins to work for a job, which may have to wait for its place among those of the host.
func (w *Worker) openJob(ctx context.Context, o opening) (*opened, error) {
	defer every(beat, func() { activity.RecordHeartbeat(ctx) })()
	defer context.AfterFunc(ctx, func() {
		if errors.As(context.Cause(ctx), new(*temporal.CanceledError)) {
			w.leave(o.Job, jobs.ErrStopped)
		}
	})()
	s, err := w.session(o)
	if err != nil {
		return nil, w.explain(o.Job, err)
	}
	h, err := s.History(ctx)
	if err != nil {
		return nil, err
	}
	j, err := jobs.Find(ctx, w.store, o.Job)
	if err != nil {
		return nil, err
	}
	out := &opened{Placed: Placed{Host: w.o.Host, Job: j.ID, Workflow: j.Workflow, Agent: j.Agent, Model: j.Model, Title: j.Title, Input: j.Input}, States: h.States, Records: map[string]flow.Record{}}
	if w.rt != nil {
		d, err := w.rt.Job(ctx, j.ID)
		if err != nil {
			return nil, err
		}
		out.Sandbox, out.BaseURL = d.Config.Sandbox, d.Config.BaseURL
		if tree := d.Worktree; tree != nil {
			out.Dir, out.Base = filepath.Join(tree.Repo, filepath.FromSlash(tree.Sub)), tree.Base
		}
	}
	size := len(j.Input)
	for _, rec := range h.Steps {
		if rec.Done || !rec.Deadline.IsZero() {
			out.Records[rec.Path] = rec
			size += len(rec.Output)
		}
	}
	for _, st := range h.States {
		size += len(st.Value)
	}
	for _, sig := range j.Signals {
		out.Queue = append(out.Queue, post(sig))
		size += len(sig.Value)
	}
	if most := w.most(); size > most {
		return nil, temporal.NewNonRetryableApplicationError("the job begins with its prompt, what is attached and what it remembers: "+tooBig(size, most), failedType, nil)
	}
	return out, nil
}

// every calls f from time to time until stop is called.
func every(d time.Duration, f func()) (stop func()) {
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(d):
				f()
			}
		}
	}()
	return sync.OnceFunc(func() { close(done) })
}

// perform performs a step in the session of its job. Only a cancel stops it: an attempt that
// Temporal has given up is found by the next one, which waits for it or gets its outcome.
func (w *Worker) perform(ctx context.Context, t task) (o Outcome, err error) {
	defer every(beat, func() { activity.RecordHeartbeat(ctx) })()
	s, err := w.session(opening{Job: t.Step.Job, AtOnce: t.AtOnce})
	if err != nil {
		return o, w.explain(t.Step.Job, err)
	}
	step, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	defer context.AfterFunc(ctx, func() {
		if cause := context.Cause(ctx); errors.As(cause, new(*temporal.CanceledError)) {
			stop(cause)
		}
	})()
	o.Output, err = s.Do(step, t.Task)
	failed := new(flow.StepError)
	switch {
	case errors.As(err, &failed):
		o.Failure, err = &failed.Failure, nil
	case err != nil && s.Ended() != nil:
		err = w.explain(t.Step.Job, err) // the idle ones are left within a second
		w.leave(t.Step.Job, jobs.ErrStopped)
	case err == nil && len(o.Output) > w.most():
		o = Outcome{Failure: &flow.Failure{Code: "too_big", Message: "its result: " + tooBig(len(o.Output), w.most())}}
	}
	return o, err
}

// finish records how a job has ended.
func (w *Worker) finish(ctx context.Context, end End) (recorded, error) {
	defer every(beat, func() { activity.RecordHeartbeat(ctx) })()
	return w.record(ctx, end)
}

func (w *Worker) record(ctx context.Context, end End) (recorded, error) {
	s, err := w.session(opening{Job: end.Job, AtOnce: -1})
	if err != nil {
		j, _ := jobs.Find(ctx, w.store, end.Job)
		if j != nil && j.Status.Final() {
			return recorded{Status: j.Status}, nil // it was recorded, and the answer was lost
		}
		return recorded{}, w.explain(end.Job, err)
	}
	w.mu.Lock()
	delete(w.open, end.Job)
	w.mu.Unlock()
	j, err := s.End(end.Before, end.Output, end.Code, end.Why)
	if err != nil {
		return recorded{}, err
	}
	if !j.Status.Final() {
		return recorded{}, fmt.Errorf("%s: recording how it ended: %s", end.Job, j.Reason)
	}
	if w.ended != nil && w.ended(j) {
		return recorded{Status: jobs.Queued}, nil
	}
	return recorded{j.Status, s.Final().Cost}, nil
}
