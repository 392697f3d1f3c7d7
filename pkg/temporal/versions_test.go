package temporal

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"go.temporal.io/sdk/client"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// build is the one with which a job goes on.
func (r *rig) build(id string) string {
	r.t.Helper()
	d, err := r.cluster.c.DescribeWorkflowExecution(r.t.Context(), id, "")
	if err != nil {
		r.t.Fatal(err)
	}
	return pinned(d.GetWorkflowExecutionInfo().GetVersioningInfo())
}

// asks waits until a job asks for something.
func (r *rig) asks(id string) {
	r.t.Helper()
	until(r.t, func() error {
		d, err := r.Job(r.t.Context(), id)
		if err == nil && len(d.Questions) == 0 {
			err = fmt.Errorf("it is %s: %s", d.Job.Status, d.Job.Reason)
		}
		return err
	})
}

// TestVersions has two builds side by side on one data directory: a job ends with the build that it began
// with, which lives on without its host until then. When a build has no worker any more, the next one goes
// on with the jobs that it replays, and the others wait.
func TestVersions(t *testing.T) {
	script := strings.Replace(twoParts("1ms"), "turns: [text: All is done.]", "turns: [text: All is done., text: All is done now.]", 1) +
		"  - when: You work\n    turns: [{calls: [{name: push, args: {n: 1}}]}, {text: Done.}]\n"
	r := served(t)
	if err := errors.Join(os.WriteFile(r.file("script.yaml"), []byte(script), 0o600), os.Mkdir(r.file("workspace"), 0o700), os.Mkdir(r.file("data"), 0o700)); err != nil {
		t.Fatal(err)
	}
	until(t, func() (err error) { r.cluster, err = Dial(t.Context(), r.at); return err })
	r.cluster.ahead("-3m")
	r.Client = r.cluster.Client()
	t.Cleanup(func() { r.cluster.Close() })
	first, host := r.workBy("first", "data", "worker")
	t.Cleanup(func() { r.kill(first) })
	r.host = host

	led := r.beginAs("leader", executor.ApproveEdits)
	r.asks(led)
	second, same := r.workBy("other", "data", "worker")
	t.Cleanup(func() { r.kill(second) })
	if same != host {
		t.Errorf("the host %s has the name %s for another build", host, same)
	}
	fresh := r.begin(executor.ApproveEdits)
	r.asks(fresh)
	if a, b := r.build(led), r.build(fresh); a != "first" || b != "other" {
		t.Errorf("the jobs belong to %q and %q", a, b)
	}
	var out bytes.Buffer
	until(t, func() error {
		out.Reset()
		err := doctor(t.Context(), &out, r.at)
		for _, want := range []string{"first: 1 open jobs; on " + host, "other: 1 open jobs; new jobs begin with it; on " + host} {
			if !strings.Contains(out.String(), want) {
				err = errors.Join(err, fmt.Errorf("it lacks %q", want))
			}
		}
		return err
	})

	// The first build lives on without its host, until its job has ended.
	if err := first.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	r.approveAll(led)
	if got := r.build(led); got != "first" {
		t.Errorf("it ended with %q", got)
	}
	if err := first.Wait(); err != nil {
		t.Errorf("the first build ended with %v", err)
	}
	for _, n := range []int{10, 11, 12, 20, 21, 22} {
		if got := r.effects()[fmt.Sprint("end ", n)]; got != 1 {
			t.Errorf("call %d has ended %d times", n, got)
		}
	}

	// The second one is killed: the third goes on with what it replays.
	stays := r.beginAs("leader", executor.ApproveEdits)
	r.asks(stays)
	r.kill(second)
	third, _ := r.workBy("third", "data", "worker")
	t.Cleanup(func() { r.kill(third) })
	r.approve(fresh)
	r.ended(fresh, jobs.Done)
	if got := r.build(fresh); got != "third" {
		t.Errorf("it ended with %q", got)
	}
	d, err := r.Job(t.Context(), stays)
	if err != nil || len(d.Questions) == 0 {
		t.Fatalf("%v, %+v", err, d)
	}
	for _, s := range d.Questions[0].Signals {
		if strings.HasPrefix(s, "approve") {
			_, err = r.Signal(t.Context(), stays, adroit.Signal{Name: s, Question: d.Questions[0].Path})
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	if j := r.ended(stays, jobs.Blocked); !strings.Contains(j.Reason, "begun by the program other") {
		t.Errorf("it waits, because %s", j.Reason)
	}
	for status, want := range map[jobs.Status]int{jobs.Blocked: 1, jobs.Waiting: 0, "": 1} {
		o := adroit.ListOptions{Status: []jobs.Status{status}}
		if status == "" {
			o.Status = nil
		}
		n := 0
		list, err := r.Jobs(t.Context(), o)
		for _, j := range list {
			if j.ID == stays && j.Status == jobs.Blocked {
				n++
			}
		}
		if err != nil || n != want {
			t.Errorf("%d of the list of %q are the blocked job, want %d: %v", n, status, want, err)
		}
	}
	again, _ := r.workBy("other", "data", "worker")
	t.Cleanup(func() { r.kill(again) })
	r.approveAll(stays)
	if got := r.build(stays); got != "other" {
		t.Errorf("it ended with %q", got)
	}

	// The newest is rolled back: once nobody answers with it, new jobs begin with the one before.
	r.kill(third)
	r.kill(again)
	again, _ = r.workBy("other", "data", "worker")
	t.Cleanup(func() { r.kill(again) })
	until(t, func() error {
		d, err := r.cluster.c.WorkerDeploymentClient().GetHandle(r.cluster.queue).Describe(t.Context(), client.WorkerDeploymentDescribeOptions{})
		if err == nil && d.Info.RoutingConfig.CurrentVersion.BuildID != "other" {
			err = fmt.Errorf("new jobs begin with %s", d.Info.RoutingConfig.CurrentVersion.BuildID)
		}
		return err
	})
	back := r.begin(executor.ApproveEdits)
	r.asks(back)
	if got := r.build(back); got != "other" {
		t.Errorf("after the rollback a job belongs to %q", got)
	}
}
