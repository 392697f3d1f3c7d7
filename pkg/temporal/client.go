package temporal

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/api"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// A Cluster is a connection to Temporal, as the engine of adroit's jobs. It is safe for
// concurrent use.
type Cluster struct {
	c         client.Client
	namespace string
	queue     string
}

// Dial connects to the frontend at an address such as 127.0.0.1:7233.
func Dial(ctx context.Context, address, namespace string) (*Cluster, error) {
	ctx, stop := context.WithTimeout(ctx, 10*time.Second)
	defer stop()
	c, err := client.DialContext(ctx, client.Options{HostPort: address, Namespace: namespace, Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler))})
	if err != nil {
		return nil, err
	}
	return &Cluster{c, namespace, Queue}, nil
}

// Close ends the connection.
func (t *Cluster) Close() error { t.c.Close(); return nil }

// Start implements [adroit.Elsewhere].
func (t *Cluster) Start(ctx context.Context, job string) error {
	h, err := t.c.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{WorkflowID: job, UpdateName: startName, WaitForStage: client.WorkflowUpdateStageCompleted})
	if err == nil {
		err = h.Get(ctx, nil)
	}
	if err == nil {
		err = t.c.SignalWorkflow(ctx, job, "", resumeName, nil) // nothing waits for it unless the job is blocked
	}
	return ended(job, err)
}

// Signal implements [adroit.Elsewhere].
func (t *Cluster) Signal(ctx context.Context, job string, sig flow.Signal) error {
	if sig.Question == "" { // a message, or an answer that comes early
		return ended(job, t.c.SignalWorkflow(ctx, job, "", signalName, sig))
	}
	soon, stop := context.WithTimeout(ctx, patience)
	defer stop()
	h, err := t.c.UpdateWorkflow(soon, client.UpdateWorkflowOptions{WorkflowID: job, UpdateName: answerName, Args: []any{sig}, WaitForStage: client.WorkflowUpdateStageCompleted})
	if err == nil {
		err = h.Get(soon, nil)
	}
	refused := new(temporal.ApplicationError)
	switch {
	case errors.As(err, &refused):
		return fmt.Errorf("%s: %w", job, jobs.ErrAnswered)
	case err != nil && soon.Err() != nil && ctx.Err() == nil: // no worker lives: it is kept until one does
		err = t.c.SignalWorkflow(ctx, job, "", signalName, sig)
	}
	return ended(job, err)
}

// patience is how long a worker may take to answer before a signal is left for it.
const patience = 5 * time.Second

// Cancel implements [adroit.Elsewhere].
func (t *Cluster) Cancel(ctx context.Context, job string) error {
	return ended(job, t.c.CancelWorkflow(ctx, job, ""))
}

// ended is the error of a job that has ended.
func ended(job string, err error) error {
	if errors.As(err, new(*serviceerror.NotFound)) {
		return fmt.Errorf("%s: %w, or Temporal does not know it", job, jobs.ErrFinal)
	}
	return err
}

// Client returns a client of all jobs and hosts of the cluster. What Temporal does not
// answer itself is answered by the job's host, or by any for what is about no job.
func (t *Cluster) Client() adroit.Client {
	return &remote{t.on(""), t}
}

// on is a client of one host.
func (t *Cluster) on(host string) adroit.Client {
	return api.NewClient("http://temporal", &http.Client{Transport: transport{t, host}})
}

// Work performs the steps of a host's jobs until ctx ends: see [NewWorker]. data is the data
// directory, which keeps the name of the host; host is that name for a directory that has none.
func (t *Cluster) Work(ctx context.Context, rt *adroit.Runtime, data, host string, ready func(host string)) error {
	name, err := hostName(data, host)
	if err == nil {
		err = t.attributes(ctx)
	}
	if err != nil {
		return err
	}
	w, err := NewWorker(ctx, t.c, rt, Options{Host: name, Queue: t.queue})
	if err != nil {
		return err
	}
	if err := w.Start(); err != nil {
		return err
	}
	ready(name)
	<-ctx.Done()
	w.Stop()
	return nil
}

// hostName is the name that a data directory has for ever, made where it has none.
func hostName(data, host string) (string, error) {
	file := filepath.Join(data, "host")
	switch b, err := os.ReadFile(file); {
	case err == nil && (host == "" || host == strings.TrimSpace(string(b))):
		return strings.TrimSpace(string(b)), nil
	case err == nil:
		return "", problem.Invalidf("leave --host out, or take another data directory", "this data directory is that of the host %s: its jobs wait for that name", strings.TrimSpace(string(b)))
	case !errors.Is(err, fs.ErrNotExist):
		return "", err
	}
	if host == "" {
		machine, err := os.Hostname()
		if err != nil {
			return "", err
		}
		b := make([]byte, 5)
		rand.Read(b) // never fails: see its documentation
		host = machine + "-" + strings.ToLower(base32.StdEncoding.EncodeToString(b))
	}
	if strings.ContainsAny(host, "/ \t\n") || host == Queue {
		return "", problem.Invalidf("letters, digits and - will do", "%q cannot be the name of a host", host)
	}
	return host, rootfs.WriteFile(file, []byte(host+"\n"))
}

// attributes registers the search attributes that a cluster lacks: a workflow that sets one
// which is not registered would fail its task for ever.
func (t *Cluster) attributes(ctx context.Context) error {
	list, err := t.c.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: t.namespace})
	if err != nil {
		return fmt.Errorf("looking at the search attributes of Temporal: %w", err)
	}
	lacking := map[string]enums.IndexedValueType{}
	for _, a := range []temporal.SearchAttributeKeyKeyword{AttributeStatus, AttributeHost, AttributeAgent, AttributeModel} {
		if _, ok := list.CustomAttributes[a.GetName()]; !ok {
			lacking[a.GetName()] = enums.INDEXED_VALUE_TYPE_KEYWORD
		}
	}
	if len(lacking) == 0 {
		return nil
	}
	_, err = t.c.OperatorService().AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{Namespace: t.namespace, SearchAttributes: lacking})
	if err != nil {
		return problem.WithHint(fmt.Errorf("registering the search attributes of jobs: %w", err), "an operator of the cluster adds AdroitStatus, AdroitHost, AdroitAgent and AdroitModel, of type Keyword: temporal operator search-attribute create")
	}
	return nil
}

// transport carries calls to hosts by workflows, so that Temporal keeps who called what.
type transport struct {
	*Cluster
	host string // empty: that of the job that a call is about
}

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	var body []byte
	var err error
	if req.Body != nil {
		if body, err = io.ReadAll(req.Body); err != nil {
			return nil, err
		}
	}
	about := struct{ Job string }{req.URL.Query().Get("job")}
	_ = json.Unmarshal(body, &about) // what is about no job has none
	host := t.host
	if host == "" {
		if host, err = t.hostOf(req.Context(), about.Job); err != nil {
			return nil, err
		}
	}
	run, err := t.c.ExecuteWorkflow(req.Context(), client.StartWorkflowOptions{TaskQueue: t.queue, WorkflowExecutionTimeout: callTime, StaticSummary: req.URL.Path}, callName, host, req.Method, req.URL.RequestURI(), body)
	if err != nil {
		return nil, err
	}
	var a reply
	if err := run.Get(req.Context(), &a); err != nil {
		if req.Context().Err() != nil { // nobody waits for it any more: a worker that comes later must not do it
			_ = t.c.TerminateWorkflow(context.WithoutCancel(req.Context()), run.GetID(), run.GetRunID(), "the caller has gone")
		}
		return nil, answer(host, err)
	}
	return &http.Response{StatusCode: a.Status, Header: a.Header, Body: io.NopCloser(bytes.NewReader(a.Body)), Request: req}, nil
}

// hostOf is the queue of the host of a job, or of any host.
func (t *Cluster) hostOf(ctx context.Context, job string) (string, error) {
	if job == "" {
		return t.queue, nil
	}
	d, err := t.c.DescribeWorkflowExecution(ctx, job, "")
	if errors.As(err, new(*serviceerror.NotFound)) {
		return t.queue, nil // that of an earlier time, or a part of an id
	}
	if err != nil {
		return "", err
	}
	var host string
	if f := d.GetWorkflowExecutionInfo().GetSearchAttributes().GetIndexedFields()[AttributeHost.GetName()]; f != nil {
		_ = json.Unmarshal(f.GetData(), &host) // a string
	}
	if host == "" {
		return t.queue, nil
	}
	return host, nil
}

// errAway is a host that does not answer.
var errAway = errors.New("it does not answer: no worker of it polls Temporal")

// answer explains why a host gave no answer.
func answer(host string, err error) error {
	refused := new(temporal.ApplicationError)
	p := new(problem.Error)
	timeout := new(temporal.TimeoutError)
	switch {
	case errors.As(err, &refused) && refused.Type() == refusedType && refused.Details(p) == nil:
		return p
	case errors.As(err, &timeout):
		return problem.WithHint(fmt.Errorf("the host %s: %w", host, errAway), "adroit worker, in its data directory, makes it answer; its jobs wait for it")
	case errors.As(err, &refused):
		return errors.New(refused.Message())
	}
	return fmt.Errorf("%s: %w", host, err)
}

// A remote is the client of jobs on Temporal: what is not here is asked of a host.
type remote struct {
	adroit.Client
	t *Cluster
}

// Submit has a host take the request. It returns once one has.
func (r *remote) Submit(ctx context.Context, q adroit.Request) (*adroit.Submitted, error) {
	id := jobs.New(time.Now())
	if q.Key != "" { // the same request has the same workflow
		sum := flow.Digest([]byte(q.Dir + "\x00" + q.Key))
		id = "J" + strings.ToUpper(sum[:13])
	}
	on := q.Host
	raw, err := json.Marshal(q)
	if err != nil {
		return nil, problem.AsError(err)
	}
	kind := q.Target
	if kind == "" {
		kind = q.Agent
	}
	if kind == "" {
		kind = "job"
	}
	title := q.Title
	if title == "" {
		title, _, _ = strings.Cut(strings.TrimSpace(q.Prompt), "\n")
	}
	if r := []rune(title); len(r) > 80 {
		title = string(r[:79]) + "…"
	}
	_, err = r.t.c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: id, TaskQueue: r.t.queue, StaticSummary: title, WorkflowExecutionErrorWhenAlreadyStarted: true,
		WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
	}, kind, Carry{Request: raw, On: on})
	repeated := errors.As(err, new(*serviceerror.WorkflowExecutionAlreadyStarted))
	if err != nil && !repeated {
		return nil, problem.AsError(err)
	}
	if !repeated {
		if err := r.placed(ctx, id); err != nil {
			return nil, err
		}
	}
	d, err := r.Job(ctx, id)
	if err != nil {
		return nil, err
	}
	return &adroit.Submitted{Job: d.Job, Plan: &adroit.Plan{Workflow: d.Job.Workflow}, Repeated: repeated, Worktree: d.Worktree}, nil
}

// placed waits until a host has taken a job.
func (r *remote) placed(ctx context.Context, id string) error {
	soon, stop := context.WithTimeout(ctx, time.Minute)
	defer stop()
	h, err := r.t.c.UpdateWorkflow(soon, client.UpdateWorkflowOptions{WorkflowID: id, UpdateName: placedName, WaitForStage: client.WorkflowUpdateStageCompleted})
	if err == nil {
		err = h.Get(soon, nil)
	}
	if err == nil {
		return nil
	}
	if soon.Err() != nil && ctx.Err() == nil {
		_ = r.t.c.TerminateWorkflow(context.WithoutCancel(ctx), id, "", "no worker took it in a minute")
		return problem.WithHint(errors.New("no worker has taken the job in a minute; it was withdrawn"), "adroit worker makes this machine one")
	}
	// The refusal is that of the workflow, which has ended with it.
	if run := r.t.c.GetWorkflow(soon, id, ""); run != nil {
		if why := run.Get(soon, nil); why != nil {
			err = why
		}
	}
	return problem.AsError(answer("any host", err))
}

// Jobs lists the jobs of all hosts. Of a host that does not answer it lists those that have
// not ended, as far as Temporal knows them.
func (r *remote) Jobs(ctx context.Context, o adroit.ListOptions) ([]adroit.JobSummary, error) {
	open := map[string][]adroit.JobSummary{} // by host
	var next []byte
	for first := true; first || len(next) > 0; first = false {
		page, err := r.t.c.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{Namespace: r.t.namespace, NextPageToken: next, PageSize: 1000, Query: "AdroitHost IS NOT NULL"})
		if err != nil {
			return nil, problem.AsError(err)
		}
		next = page.NextPageToken
		for _, e := range page.Executions {
			field := func(name string) (v string) {
				if f := e.GetSearchAttributes().GetIndexedFields()[name]; f != nil {
					_ = json.Unmarshal(f.GetData(), &v) // a string
				}
				return v
			}
			host := field(AttributeHost.GetName())
			if _, known := open[host]; !known {
				open[host] = nil
			}
			if e.Status == enums.WORKFLOW_EXECUTION_STATUS_RUNNING && (o.Agent == "" || o.Agent == field(AttributeAgent.GetName())) {
				j := &jobs.Job{ID: e.Execution.WorkflowId, Agent: field(AttributeAgent.GetName()), Model: field(AttributeModel.GetName()), Status: jobs.Interrupted,
					Reason: "its host, " + host + ", does not answer", Created: e.StartTime.AsTime(), Updated: e.StartTime.AsTime()}
				open[host] = append(open[host], adroit.JobSummary{Job: j})
			}
		}
	}
	var all []adroit.JobSummary
	for _, host := range slices.Sorted(maps.Keys(open)) {
		list, err := r.t.on(host).Jobs(ctx, o)
		if ctx.Err() != nil {
			return nil, problem.AsError(context.Cause(ctx))
		}
		if err != nil {
			list = open[host]
		}
		all = append(all, list...)
	}
	slices.SortStableFunc(all, func(a, b adroit.JobSummary) int { return b.Created.Compare(a.Created) })
	if o.Limit > 0 && len(all) > o.Limit {
		all = all[:o.Limit]
	}
	return all, nil
}

// Cancel ends a job, also while no worker of its host lives.
func (r *remote) Cancel(ctx context.Context, ref string) (*jobs.Job, error) {
	switch err := r.t.Cancel(ctx, ref); {
	case errors.Is(err, jobs.ErrFinal):
		return r.Client.Cancel(ctx, ref) // or no job of Temporal: its host knows
	case err != nil:
		return nil, problem.AsError(err)
	}
	soon, stop := context.WithTimeout(ctx, 10*time.Second)
	defer stop()
	_ = r.t.c.GetWorkflow(soon, ref, "").Get(soon, nil) // its end, or that it takes longer
	d, err := r.Job(ctx, ref)
	if err != nil {
		return nil, problem.WithHint(fmt.Errorf("%s: the end was asked for; its host has not confirmed it: %w", ref, err), "the job ends when its host is back")
	}
	if !d.Job.Status.Final() {
		return nil, problem.AsError(fmt.Errorf("%s: its runner has not confirmed the cancel within 10s; it will as soon as its step lets it", ref))
	}
	return d.Job, nil
}

// Signal answers a question, also while no worker lives: then the name is the whole one,
// or is completed by the workflow.
func (r *remote) Signal(ctx context.Context, ref string, s adroit.Signal) (*adroit.SignalSent, error) {
	soon, stop := context.WithTimeout(ctx, 2*patience)
	defer stop()
	sent, err := r.Client.Signal(soon, ref, s)
	if err == nil || ctx.Err() != nil || soon.Err() == nil && !errors.Is(err, errAway) {
		return sent, err
	}
	if err := r.t.Signal(ctx, ref, flow.Signal{Name: s.Name, Value: s.Value}); err != nil {
		return nil, problem.AsError(err)
	}
	return &adroit.SignalSent{Job: &jobs.Job{ID: ref, Status: jobs.Interrupted}, Early: true}, nil
}

// Wait waits until a job has ended, or waits for a person, its host or an operator.
func (r *remote) Wait(ctx context.Context, ref string) (*jobs.Job, error) {
	for {
		d, err := r.t.c.DescribeWorkflowExecution(ctx, ref, "")
		if errors.As(err, new(*serviceerror.NotFound)) {
			return r.Client.Wait(ctx, ref) // no job of Temporal, or a part of an id
		}
		if err != nil {
			return nil, problem.AsError(err)
		}
		info := d.GetWorkflowExecutionInfo()
		var status jobs.Status
		if f := info.GetSearchAttributes().GetIndexedFields()[AttributeStatus.GetName()]; f != nil {
			_ = json.Unmarshal(f.GetData(), &status) // a string
		}
		closed := info.GetStatus() != enums.WORKFLOW_EXECUTION_STATUS_RUNNING && info.GetStatus() != enums.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW
		if !closed && (status == jobs.Interrupted || status == jobs.Blocked) {
			return &jobs.Job{ID: ref, Status: status, Reason: "its host does not go on with it at the moment", Created: info.GetStartTime().AsTime()}, nil
		}
		if closed || status == jobs.Waiting {
			j, err := r.Job(ctx, ref)
			if err == nil && (j.Job.Status == jobs.Running || j.Job.Status == jobs.Queued) && !closed {
				goto next // its host gives it back within two seconds
			}
			if err != nil {
				return nil, err
			}
			return j.Job, nil
		}
	next:
		select {
		case <-time.After(500 * time.Millisecond):
		case <-ctx.Done():
			return nil, problem.AsError(context.Cause(ctx))
		}
	}
}

// Events implements [adroit.JobReader]. Followed, it asks again and again: events come a
// second late, and pieces of answers not at all.
func (r *remote) Events(ctx context.Context, ref string, o adroit.EventOptions) iter.Seq2[event.Event, error] {
	if !o.Follow {
		return r.Client.Events(ctx, ref, o)
	}
	return func(yield func(event.Event, error) bool) {
		for {
			before := o.After
			for ev, err := range r.Client.Events(ctx, ref, o) {
				if o.After = max(o.After, ev.Seq); !yield(ev, err) || err != nil {
					return
				}
			}
			if o.After > before {
				continue
			}
			d, err := r.Job(ctx, ref)
			if err != nil {
				yield(event.Event{}, err)
				return
			}
			if s := d.Job.Status; s != jobs.Running && s != jobs.Queued && (d.End == nil || d.End.Seq <= o.After) {
				return
			}
		}
	}
}
