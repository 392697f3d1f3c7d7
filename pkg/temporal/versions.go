package temporal

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	enums "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/taskqueue/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/adroit-run/adroit/pkg/flow"
)

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
			if now == build {
				return nil
			}
			polls, e := t.builds(ctx)
			if e != nil {
				return e
			}
			if !mine.IsZero() && polls[now] != nil && theirs.After(mine) {
				return nil
			}
			_, err = h.SetCurrentVersion(ctx, client.WorkerDeploymentSetCurrentVersionOptions{BuildID: build, IgnoreMissingTaskQueues: true, ConflictToken: d.ConflictToken})
		}
		// The server knows a build a second or two after its first poll.
		if err == nil || !errors.As(err, new(*serviceerror.NotFound)) && !errors.As(err, new(*serviceerror.FailedPrecondition)) {
			return err
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// builds are those that have workers, with the hosts of these.
func (t *Cluster) builds(ctx context.Context) (map[string][]string, error) {
	d, err := t.c.DescribeTaskQueue(ctx, t.queue, enums.TASK_QUEUE_TYPE_WORKFLOW)
	if err != nil {
		return nil, err
	}
	out := map[string][]string{}
	for _, p := range d.Pollers {
		if b := p.GetDeploymentOptions().GetBuildId(); b != "" && time.Since(p.GetLastAccessTime().AsTime()) < pollerGone && !slices.Contains(out[b], p.Identity) {
			out[b] = append(out[b], p.Identity)
		}
	}
	return out, nil
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

// untakenTask reports whether a job's next task lies there for longer than a worker needs to take it.
func untakenTask(d *workflowservice.DescribeWorkflowExecutionResponse) bool {
	p := d.GetPendingWorkflowTask()
	return p.GetState() == enums.PENDING_WORKFLOW_TASK_STATE_SCHEDULED && time.Since(p.GetScheduledTime().AsTime()) > taskPatience
}

// taskPatience is how long a task waits for a worker before its build counts as one that has none. A poll
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

// adoptEvery is how often a worker looks for jobs of builds that have no worker.
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
	polls, err := t.builds(ctx)
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
		if of == "" || of == build || refused[run] || polls[of] != nil && !untakenTask(d) {
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
			return p.Identity != self && time.Since(p.GetLastAccessTime().AsTime()) < pollerGone
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

// unserved is why a job waits for a build that has no worker, empty if it does not.
func (t *Cluster) unserved(ctx context.Context, d *workflowservice.DescribeWorkflowExecutionResponse) string {
	of := pinned(d.GetWorkflowExecutionInfo().GetVersioningInfo())
	if of == "" || !untakenTask(d) {
		return ""
	}
	if polls, err := t.builds(ctx); err != nil || polls[of] != nil && time.Since(d.GetPendingWorkflowTask().GetScheduledTime().AsTime()) < 2*pollerGone {
		return ""
	}
	return fmt.Sprintf("it was begun by the program %s, of which no worker runs, and the current one asks for other steps: start that program again", of)
}

// versions names the builds that have open jobs.
func (c *checkup) versions(ctx context.Context, t *Cluster) error {
	polls, err := t.builds(ctx)
	if err != nil {
		return err
	}
	jobs := map[string]int{}
	err = t.open(ctx, func(d *workflowservice.DescribeWorkflowExecutionResponse) error {
		if of := pinned(d.GetWorkflowExecutionInfo().GetVersioningInfo()); of != "" && d.GetWorkflowExecutionInfo().GetParentExecution() == nil {
			jobs[of]++
		}
		return nil
	})
	if err != nil {
		return err
	}
	now := ""
	d, err := t.c.WorkerDeploymentClient().GetHandle(t.queue).Describe(ctx, client.WorkerDeploymentDescribeOptions{})
	if err != nil && !errors.As(err, new(*serviceerror.NotFound)) { // no worker has been here yet
		return err
	}
	if v := d.Info.RoutingConfig.CurrentVersion; v != nil {
		now = v.BuildID
		jobs[now] += 0
	}
	for of := range polls {
		jobs[of] += 0
	}
	for _, of := range slices.Sorted(maps.Keys(jobs)) {
		what := fmt.Sprintf("%s: %d open jobs", of, jobs[of])
		if of == now {
			what += "; new jobs begin with it"
		}
		if hosts := polls[of]; len(hosts) > 0 {
			slices.Sort(hosts)
			c.line("ok", "versions", "%s; on %s", what, strings.Join(hosts, ", "))
		} else {
			c.line("warn", "versions", "%s; no worker runs it: its jobs go on with the current version if they fit, and wait for it otherwise", what)
		}
	}
	return nil
}
