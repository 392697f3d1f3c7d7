package temporal

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	common "go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
)

// move has a job go on with another host, as Retry of a remote promises.
func (r *remote) move(ctx context.Context, ref string, o adroit.RetryOptions) (*adroit.Submitted, error) {
	d, err := r.Job(ctx, ref)
	if err != nil {
		return nil, err
	}
	id, from := d.Job.ID, d.Config.Host
	switch {
	case o.From > 0 || o.CarryOut || o.Agent != "":
		return nil, problem.Invalidf("on its own host a job takes them", "a job that goes on with another host goes on from its last turn, with its agent")
	case from == o.Host:
		return nil, problem.Invalidf("it goes on there by itself, or with the same command without --host", "%s is on %s already", id, from)
	case d.Job.Status == jobs.Running || d.Job.Status == jobs.Queued:
		return nil, problem.Invalidf(hint.Command("jobs cancel %s", id)+" ends it there; what it has done goes on with the other host", "%s runs on %s", id, from)
	}
	known, err := r.t.past(ctx, id)
	if err != nil {
		return nil, err
	}
	q, err := known.request(id, from, o, true)
	if err != nil {
		return nil, err
	}
	s, err := r.submit(ctx, q)
	if p := new(problem.Error); q.Base != "" && errors.As(err, &p) && p.Kind == problem.NotFound { // of the commit, or of what the next one misses, too
		if q, err = known.request(id, from, o, false); err == nil {
			s, err = r.submit(ctx, q)
		}
	}
	if err != nil {
		return nil, err
	}
	s.Lost = known.lost
	if d.Job.Status.Final() {
		return s, nil
	}
	// Or it would go on when its host is back, beside the new one.
	if err := r.t.Cancel(ctx, id); err != nil && !errors.Is(err, jobs.ErrFinal) {
		_, gone := r.t.on(o.Host).Remove(ctx, s.Job.ID, adroit.RemoveOptions{})
		return nil, errors.Join(fmt.Errorf("%s may still go on, so the new job was taken back: %w", id, err), gone)
	}
	soon, stop := context.WithTimeout(ctx, confirmPatience)
	defer stop()
	_ = r.t.c.GetWorkflow(soon, id, "").Get(soon, nil) // an error of the wait does not tell whether it has ended
	// If its host is away, and may be for ever, that learns of it when it is back.
	err = r.t.c.TerminateWorkflow(ctx, id, "", fmt.Sprintf("it goes on as %s with the host %s", s.Job.ID, o.Host))
	if errors.As(err, new(*serviceerror.NotFound)) { // it has ended by now
		err = nil
	}
	return s, err
}

// confirmPatience bounds the wait for a host to confirm that a job has ended.
const confirmPatience = 3 * time.Second

// A past is a job's history on Temporal.
type past struct {
	placed Placed
	asks   []json.RawMessage // of its models
	after  []*unseen         // calls of tools since the last of them
	acts   map[string]bool   // tools that may change the workspace
	lost   []string          // calls that have, or may have
}

// An unseen is a call whose result no model has seen.
type unseen struct {
	tool  string
	ended bool // else it may or may not have happened
}

// past reads the histories of all executions of a job, the oldest first.
func (t *Cluster) past(ctx context.Context, id string) (*past, error) {
	var all []*workflowpb.WorkflowExecutionInfo
	err := t.executions(ctx, fmt.Sprintf("RootWorkflowId = %q", id), func(e *workflowpb.WorkflowExecutionInfo) { all = append(all, e) })
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b *workflowpb.WorkflowExecutionInfo) int {
		return a.GetStartTime().AsTime().Compare(b.GetStartTime().AsTime())
	})
	p := &past{acts: map[string]bool{}}
	for _, e := range all {
		of := p
		if e.GetExecution().GetWorkflowId() != id { // a sub-agent, which has a conversation of its own
			of = &past{acts: p.acts}
		}
		if err := t.read(ctx, of, e.GetExecution()); err != nil {
			return nil, fmt.Errorf("reading what Temporal has of %s: %w", id, err)
		}
		if of != p {
			p.lost = append(p.lost, of.lost...)
		}
	}
	if len(p.placed.Input) == 0 {
		return nil, problem.Invalidf(hint.Command("run")+" starts a new one", "Temporal has nothing of %s any more: its retention is over, or the job never began", id)
	}
	return p, nil
}

func (t *Cluster) read(ctx context.Context, p *past, of *common.WorkflowExecution) error {
	kinds, open := map[int64]string{}, map[int64]*unseen{} // by event, of activities
	value := func(in *common.Payloads, v any) error {
		plain, err := t.decode(in.GetPayloads())
		if err == nil {
			err = converter.GetDefaultDataConverter().FromPayloads(&common.Payloads{Payloads: plain}, v)
		}
		return err
	}
	for history := t.c.GetWorkflowHistory(ctx, of.GetWorkflowId(), of.GetRunId(), false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); history.HasNext(); {
		ev, err := history.Next()
		if err != nil {
			return err
		}
		if began := ev.GetActivityTaskScheduledEventAttributes(); began != nil {
			kind := began.GetActivityType().GetName()
			kinds[ev.GetEventId()] = kind
			if kind != turn.ModelStep && kind != turn.ToolStep {
				continue
			}
			var now task
			if err := value(began.GetInput(), &now); err != nil {
				return err
			}
			if kind == turn.ModelStep {
				p.asks, p.after = append(p.asks, now.Step.Input), nil
				continue
			}
			p.call(now.Step)
			open[ev.GetEventId()] = &unseen{tool: now.Step.Name}
			p.after = append(p.after, open[ev.GetEventId()])
		}
		if done := ev.GetActivityTaskCompletedEventAttributes(); done != nil {
			switch at := done.GetScheduledEventId(); kinds[at] {
			case "open":
				var o opened
				if err := value(done.GetResult(), &o); err != nil {
					return err
				}
				p.placed = o.Placed
			case turn.ResolveStep:
				var o Outcome
				if err := value(done.GetResult(), &o); err != nil {
					return err
				}
				if err := p.resolved(o); err != nil {
					return err
				}
			case turn.ToolStep:
				if call := open[at]; call != nil {
					call.ended = true
				}
			}
		}
	}
	return nil
}

// resolved keeps which tools of a task may change the workspace.
func (p *past) resolved(o Outcome) error {
	if o.Failure != nil {
		return nil
	}
	var t struct{ executor.Work }
	if err := json.Unmarshal(o.Output, &t); err != nil {
		return err
	}
	for _, tool := range slices.Concat(t.Tools, t.Checks) {
		p.acts[tool.Name] = p.acts[tool.Name] || tool.Needs&(tools.Write|tools.Exec|tools.Shell) != 0
	}
	return nil
}

// mostLost bounds the calls of which a person and the model learn that what they changed is lost.
const mostLost = 40

// call keeps a call that may change the workspace.
func (p *past) call(s flow.Step) {
	if !p.acts[s.Name] {
		return
	}
	var in struct {
		Args struct {
			Path    string `json:"path"`
			Command string `json:"command"`
		} `json:"args"`
	}
	_ = json.Unmarshal(s.Input, &in) // other arguments: the name has to do
	what := strings.TrimSpace(s.Name + " " + cmp.Or(in.Args.Path, in.Args.Command))
	if what = spelling.ClipRunes(what, 120); !slices.Contains(p.lost, what) {
		p.lost = append(p.lost, what)
	}
}

// missing describes what a host that takes a job over does not have.
func (p *past) missing(host, from string, base bool) string {
	out := fmt.Sprintf("This job goes on with the host %s; it was on %s until %s. What you changed there, in files or outside of a repository that was pushed, is lost here unless you find it: read again what you rely on, and say in the end what is lost.",
		host, from, time.Now().UTC().Format(time.DateTime))
	switch {
	case p.placed.Base != "" && base:
		out += " You work in a new worktree of the commit " + p.placed.Base + ", at which the job began."
	case p.placed.Base != "":
		out += " You work in a new worktree of the last commit here: the commit " + p.placed.Base + ", at which the job began, is neither here nor in a remote."
	}
	if n := len(p.lost); n > 0 {
		out += " Calls there that may have changed files:\n* " + strings.Join(p.lost[:min(n, mostLost)], "\n* ") + "\n"
		if n > mostLost {
			out += fmt.Sprintf("* and %d more\n", n-mostLost)
		}
	}
	if len(p.after) > 0 {
		out += " Calls whose results you have not seen:\n"
		for _, call := range p.after {
			out += "* " + call.tool + map[bool]string{true: ": it has ended\n", false: ": it may or may not have happened\n"}[call.ended]
		}
		out += "Do not repeat one that must not happen twice before you have looked."
	}
	return strings.TrimSpace(out)
}

// request makes the request of a job that goes on with another host; base: at the commit at which
// the old one began.
func (p *past) request(id, from string, o adroit.RetryOptions, base bool) (q adroit.Request, err error) {
	if p.placed.Workflow != agents.Workflow.Name {
		return q, problem.Invalidf("on its own host it goes on by itself", "%s is led by the workflow %s, which has no conversation to go on from", id, p.placed.Workflow)
	}
	if err := json.Unmarshal(p.placed.Input, &q.Input); err != nil {
		return q, err
	}
	if len(q.Attachments) > 0 {
		return q, problem.Invalidf(hint.Command("run")+" starts a new one", "%s has images, which are on %s alone", id, from)
	}
	t := adroit.Of(&jobs.Job{ID: id}, p.asks)
	last := t.Last()
	for last > 0 && t.Turns[last-1].Response == nil { // it came after what was sent last
		last = t.Turns[last-1].After
	}
	said := o.To(strings.TrimSpace(p.missing(o.Host, from, base) + "\n\n" + o.Message))
	if o.Message == "" {
		said.Text += "\n\nGo on with the task."
	}
	q.Branch = &turn.Branch{Job: id, Turn: last, Opening: llm.Message{Role: llm.User, Text: q.Prompt}}
	if last > 0 {
		if q.Branch, err = t.Branch(last); err != nil {
			return q, err
		}
	}
	q.Branch.History = append(q.Branch.History, said)
	q.Target, q.Title = "", p.placed.Title
	if q.Spec == nil {
		q.Target, q.Agent = "agent:"+q.Agent, ""
	}
	if o.Model != "" {
		q.Model = o.Model
	}
	if o.Mode != "" {
		q.Mode = o.Mode
	}
	if p.placed.Dir != "" {
		q.Dir, q.Worktree = p.placed.Dir, true
		if base {
			q.Base = p.placed.Base
		}
	}
	q.Taint |= tools.Untrusted | tools.Secret
	q.Engine, q.Host, q.Sandbox, q.BaseURL = "temporal", o.Host, p.placed.Sandbox, p.placed.BaseURL
	return q, nil
}

// terminated is why the workflow of a job was terminated, by a person or by the server.
func (w *Worker) terminated(id, run string) string {
	why := "its workflow was terminated in Temporal"
	if last := w.history(w.ctx, id, run, false, enums.HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT); last.HasNext() {
		if ev, err := last.Next(); err == nil && ev.GetWorkflowExecutionTerminatedEventAttributes().GetReason() != "" {
			why += ": " + ev.GetWorkflowExecutionTerminatedEventAttributes().GetReason()
		}
	}
	return why
}

// thisBuild identifies this program: two builds that decide alike have different ones unless their files
// are equal. What hosts do is of no build: one data directory has one store.
var thisBuild = sync.OnceValues(func() (string, error) {
	name, err := os.Executable()
	if err != nil {
		return "", err
	}
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close() // it was read
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil))[:16], nil
})

// versioning pins jobs to a build: they begin and end with it, and calls go to the current one. Without a
// build it is that of a worker of no version.
func versioning(queue, build string) worker.DeploymentOptions {
	if build == "" {
		return worker.DeploymentOptions{}
	}
	return worker.DeploymentOptions{UseVersioning: true, Version: worker.WorkerDeploymentVersion{DeploymentName: queue, BuildID: build}, DefaultVersioningBehavior: workflow.VersioningBehaviorPinned}
}

// current makes a build the one with which new jobs begin, unless one that is newer has workers: a host
// that restarts an old build in the middle of an upgrade takes nothing back.
func (t *Cluster) current(ctx context.Context, build string) error {
	h := t.c.WorkerDeploymentClient().GetHandle(t.queue)
	for {
		d, err := h.Describe(ctx, client.WorkerDeploymentDescribeOptions{})
		if err == nil {
			var mine, theirs time.Time
			now := ""
			if v := d.Info.RoutingConfig.CurrentVersion; v != nil {
				now = v.BuildID
			}
			for _, v := range d.Info.VersionSummaries {
				switch v.Version.BuildID {
				case build:
					mine = v.CreateTime
				case now:
					theirs = v.CreateTime
				}
			}
			polls, routed, e := t.builds(ctx)
			if e != nil {
				return e
			}
			if routed == build || now == build && routed == "" {
				return nil
			}
			if !mine.IsZero() && polls[now] != nil && theirs.After(mine) {
				// The polls of one that has ended show for a while: one that lives answers.
				if _, e := t.on("").Jobs(ctx, adroit.ListOptions{Limit: 1}); !errors.Is(e, errAway) {
					return nil
				}
			}
			if now != build {
				_, err = h.SetCurrentVersion(ctx, client.WorkerDeploymentSetCurrentVersionOptions{BuildID: build, IgnoreMissingTaskQueues: true, ConflictToken: d.ConflictToken})
			}
		}
		// The server knows a build a second or two after its first poll, and its queue may know the current one
		// later: until then new jobs begin with the one before.
		if err != nil && !errors.As(err, new(*serviceerror.NotFound)) && !errors.As(err, new(*serviceerror.FailedPrecondition)) {
			return err
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// takeBack makes a build the current one when a newer one has no worker any more, as after a rollback.
func (t *Cluster) takeBack(ctx context.Context, build string) {
	for {
		select {
		case <-time.After(pollerGone):
		case <-ctx.Done():
			return
		}
		_ = t.current(ctx, build) // else next time
	}
}

// builds returns the builds that have workers, with the hosts of these, and the one with which new jobs
// begin.
func (t *Cluster) builds(ctx context.Context) (hosts map[string][]string, routed string, err error) {
	d, err := t.c.DescribeTaskQueue(ctx, t.queue, enums.TASK_QUEUE_TYPE_WORKFLOW)
	if err != nil {
		return nil, "", err
	}
	hosts = map[string][]string{}
	for _, p := range d.Pollers {
		if b := p.GetDeploymentOptions().GetBuildId(); b != "" && !t.older(ctx, p.GetLastAccessTime(), pollerGone) && !slices.Contains(hosts[b], p.Identity) {
			hosts[b] = append(hosts[b], p.Identity)
		}
	}
	return hosts, d.GetVersioningInfo().GetCurrentDeploymentVersion().GetBuildId(), nil
}

// pinned is the build with which an execution goes on; empty: any.
func pinned(v *workflowpb.WorkflowExecutionVersioningInfo) string {
	if own := v.GetVersioningOverride().GetPinned(); own != nil {
		return own.GetVersion().GetBuildId()
	}
	if v.GetBehavior() != enums.VERSIONING_BEHAVIOR_PINNED {
		return ""
	}
	return v.GetDeploymentVersion().GetBuildId()
}

// untakenTask reports whether a job's next task lies there for longer than a worker needs.
func (t *Cluster) untakenTask(ctx context.Context, d *workflowservice.DescribeWorkflowExecutionResponse) bool {
	p := d.GetPendingWorkflowTask()
	return p.GetState() == enums.PENDING_WORKFLOW_TASK_STATE_SCHEDULED && t.older(ctx, p.GetScheduledTime(), taskPatience)
}

// taskPatience is the time a task waits for a worker before its build counts as one without workers. A poll
// of a worker that is gone shows for longer than a minute.
const taskPatience = 8 * time.Second

// open calls f with each execution of a job or sub-agent that has not ended, at most mostStuck.
func (t *Cluster) open(ctx context.Context, f func(*workflowservice.DescribeWorkflowExecutionResponse) error) error {
	page, err := t.c.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{Namespace: t.namespace, PageSize: mostStuck, Query: fmt.Sprintf("TaskQueue = %q AND ExecutionStatus = 'Running' AND WorkflowType != %q", t.queue, callName)})
	if err != nil {
		return err
	}
	for _, e := range page.Executions {
		d, err := t.c.DescribeWorkflowExecution(ctx, e.GetExecution().GetWorkflowId(), e.GetExecution().GetRunId())
		if errors.As(err, new(*serviceerror.NotFound)) {
			continue // it has ended
		}
		if err == nil && d.GetWorkflowExecutionInfo().GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_RUNNING {
			err = f(d)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Jobs lists the jobs of all hosts. Those with which no worker can go on are blocked, whatever their hosts have
// recorded.
func (r *remote) Jobs(ctx context.Context, o adroit.ListOptions) ([]adroit.JobSummary, error) {
	blocked := map[string]string{} // why, by id
	err := r.t.open(ctx, func(d *workflowservice.DescribeWorkflowExecutionResponse) error {
		if why := r.t.stuck(ctx, d); why != "" {
			blocked[d.GetWorkflowExecutionInfo().GetRootExecution().GetWorkflowId()] = why
		}
		return nil
	})
	if err != nil {
		return nil, problem.AsError(err)
	}
	of := o
	if len(blocked) > 0 && len(o.Status) > 0 {
		of.Status, of.Limit = nil, 0
	}
	all, err := r.list(ctx, of)
	for _, j := range all {
		if why := blocked[j.ID]; why != "" && !j.Status.Final() {
			j.Status, j.Reason = jobs.Blocked, why
		}
	}
	if len(o.Status) > 0 {
		all = slices.DeleteFunc(all, func(j adroit.JobSummary) bool { return !slices.Contains(o.Status, j.Status) })
	}
	if o.Limit > 0 && len(all) > o.Limit {
		all = all[:o.Limit]
	}
	return all, err
}

// adoptEvery is the interval at which a worker looks for jobs of builds without workers.
const adoptEvery = 5 * time.Second

// adoptAll has jobs of builds that have no worker any more go on with this build, until ctx ends.
func (t *Cluster) adoptAll(ctx context.Context, build string, known []flow.Workflow, most int) {
	refused := map[string]bool{} // runs with other steps than this build asks for
	for {
		select {
		case <-time.After(adoptEvery):
		case <-ctx.Done():
			return
		}
		_ = t.adopt(ctx, build, known, most, refused) // else next time
	}
}

// adopt moves each job whose build has no worker to this one, if this one's workflows ask for the steps that
// the job has. One that they do not fit waits for its build, and is named by doctor.
func (t *Cluster) adopt(ctx context.Context, build string, known []flow.Workflow, most int, refused map[string]bool) error {
	polls, _, err := t.builds(ctx)
	if err != nil {
		return err
	}
	d, err := t.c.WorkerDeploymentClient().GetHandle(t.queue).Describe(ctx, client.WorkerDeploymentDescribeOptions{})
	if err != nil && !errors.As(err, new(*serviceerror.NotFound)) { // a server that lost its database knows none
		return err
	}
	if now := d.Info.RoutingConfig.CurrentVersion; now == nil || now.BuildID != build {
		if now != nil && polls[now.BuildID] != nil {
			return nil
		}
		if err := t.current(ctx, build); err != nil {
			return err
		}
	}
	return t.open(ctx, func(d *workflowservice.DescribeWorkflowExecutionResponse) error {
		info := d.GetWorkflowExecutionInfo()
		of, run := pinned(info.GetVersioningInfo()), info.GetExecution().GetRunId()
		if of == "" || of == build || refused[run] || polls[of] != nil && !t.untakenTask(ctx, d) {
			return nil
		}
		h, err := t.history(ctx, info)
		if err != nil {
			return err
		}
		if err := t.fits(h, info, known, most); err != nil {
			refused[run] = true
			return nil
		}
		_, err = t.c.UpdateWorkflowExecutionOptions(ctx, client.UpdateWorkflowExecutionOptionsRequest{
			WorkflowId: info.GetExecution().GetWorkflowId(), RunId: run,
			WorkflowExecutionOptionsChanges: client.WorkflowExecutionOptionsChanges{VersioningOverride: &client.VersioningOverrideChange{
				Value: &client.PinnedVersioningOverride{Version: worker.WorkerDeploymentVersion{DeploymentName: t.queue, BuildID: build}},
			}},
		})
		if errors.As(err, new(*serviceerror.NotFound)) {
			return nil // it has ended
		}
		return err
	})
}

func (t *Cluster) history(ctx context.Context, of *workflowpb.WorkflowExecutionInfo) (*historypb.History, error) {
	h := new(historypb.History)
	for it := t.c.GetWorkflowHistory(ctx, of.GetExecution().GetWorkflowId(), of.GetExecution().GetRunId(), false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); it.HasNext(); {
		ev, err := it.Next()
		if err != nil {
			return nil, err
		}
		h.Events = append(h.Events, ev)
	}
	return h, nil
}

// fits replays what an execution has done with workflows of this build.
func (t *Cluster) fits(h *historypb.History, of *workflowpb.WorkflowExecutionInfo, known []flow.Workflow, most int) error {
	o := t.options(true)
	r, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{DataConverter: o.DataConverter, FailureConverter: o.FailureConverter, ExternalStorage: o.ExternalStorage})
	if err != nil {
		return err
	}
	r.RegisterDynamicWorkflow(decide(known, most), workflow.DynamicRegisterOptions{})
	return r.ReplayWorkflowHistoryWithOptions(log.NewStructuredLogger(slog.New(slog.DiscardHandler)), h, worker.ReplayWorkflowHistoryOptions{
		OriginalExecution: workflow.Execution{ID: of.GetExecution().GetWorkflowId(), RunID: of.GetExecution().GetRunId()},
	})
}

// unserved returns why a job waits for a build that has no worker, empty if it does not.
func (t *Cluster) unserved(ctx context.Context, d *workflowservice.DescribeWorkflowExecutionResponse) string {
	of := pinned(d.GetWorkflowExecutionInfo().GetVersioningInfo())
	if of == "" || !t.untakenTask(ctx, d) {
		return ""
	}
	if polls, _, err := t.builds(ctx); err != nil || polls[of] != nil && !t.older(ctx, d.GetPendingWorkflowTask().GetScheduledTime(), 2*pollerGone) {
		return ""
	}
	return fmt.Sprintf("it was begun by the program %s, of which no worker runs, and the current one asks for other steps: start that program again", of)
}
