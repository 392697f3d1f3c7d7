package temporal

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	common "go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/system/lock"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/api"
	"github.com/adroit-run/adroit/pkg/config"
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
	keys      *Keys // nil: what goes through Temporal is not encrypted
	store     *store
}

// Dial connects to the frontend that at names, and to the keys and the store of payloads.
func Dial(ctx context.Context, at config.Temporal) (*Cluster, error) {
	ctx, stop := context.WithTimeout(ctx, 10*time.Second)
	defer stop()
	t := &Cluster{namespace: at.Namespace, queue: Queue, store: &store{dir: at.Store}}
	var err error
	if at.KeyFile != "" {
		if t.keys, err = LoadKeys(at.KeyFile); err != nil {
			return nil, err
		}
	}
	o := t.options(false)
	o.HostPort = at.Address
	if o.ConnectionOptions.TLS, err = secure(at.TLS); err != nil {
		return nil, err
	}
	if o.Credentials, err = apiKey(at); err != nil {
		return nil, err
	}
	if t.c, err = client.DialContext(ctx, o); err != nil {
		return nil, err
	}
	if at.Store != "" {
		d, err := t.describe(ctx)
		if err != nil {
			t.c.Close()
			return nil, err
		}
		t.store.namespace = d.GetNamespaceInfo().GetId()
	}
	return t, nil
}

// options are those of a client: of a worker, whose workflows insist on keys, or of any other.
func (t *Cluster) options(worker bool) client.Options {
	data := converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), codec{t.keys, worker})
	return client.Options{
		Namespace: t.namespace, Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler)), DataConverter: data,
		FailureConverter: temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{DataConverter: data, EncodeCommonAttributes: t.keys != nil}),
		ExternalStorage:  converter.ExternalStorage{Drivers: []converter.StorageDriver{t.store}, DriverSelector: t.store, PayloadSizeThreshold: storedFrom},
	}
}

func (t *Cluster) describe(ctx context.Context) (*workflowservice.DescribeNamespaceResponse, error) {
	d, err := t.c.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: t.namespace})
	if err != nil {
		return nil, fmt.Errorf("looking at the namespace %s of Temporal: %w", t.namespace, err)
	}
	return d, nil
}

// secure is how a connection is encrypted; nil: not at all.
func secure(at config.TemporalTLS) (*tls.Config, error) {
	if !at.Enabled && at == (config.TemporalTLS{}) {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: at.ServerName}
	if at.CA != "" {
		pem, err := os.ReadFile(at.CA)
		if err != nil {
			return nil, fmt.Errorf("temporal.tls.ca: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, problem.Invalidf("it has certificates in PEM", "temporal.tls.ca: %s has no certificate", at.CA)
		}
	}
	if (at.Cert == "") != (at.Key == "") {
		return nil, problem.Invalidf("name both, or neither", "temporal.tls has one of cert and key, the certificate of this client and its key")
	}
	if at.Cert != "" {
		if _, err := tls.LoadX509KeyPair(at.Cert, at.Key); err != nil {
			return nil, fmt.Errorf("temporal.tls.cert and key: %w", err)
		}
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { // one that was renewed counts
			pair, err := tls.LoadX509KeyPair(at.Cert, at.Key)
			return &pair, err
		}
	}
	return c, nil
}

// apiKey are the credentials of an API key, nil if there is none. The SDK sends it over TLS alone.
func apiKey(at config.Temporal) (client.Credentials, error) {
	read := func(context.Context) (string, error) { return at.APIKey, nil }
	if at.APIKeyFile != "" {
		read = func(context.Context) (string, error) { // one that was renewed counts
			b, err := rootfs.ReadPrivate(at.APIKeyFile, "its key is")
			return strings.TrimSpace(string(b)), err
		}
	}
	switch key, err := read(context.Background()); {
	case err != nil:
		return nil, fmt.Errorf("temporal.api_key_file: %w", err)
	case key == "" && at.APIKeyFile != "":
		return nil, problem.Invalidf("it has the key alone", "temporal.api_key_file: %s is empty", at.APIKeyFile)
	case key == "":
		return nil, nil
	}
	return client.NewAPIKeyDynamicCredentials(read), nil
}

// Close ends the connection.
func (t *Cluster) Close() error { t.c.Close(); return nil }

// Start implements [adroit.Elsewhere].
func (t *Cluster) Start(ctx context.Context, j *jobs.Job, host, note string, atOnce int) error {
	o := client.StartWorkflowOptions{
		ID: j.ID, TaskQueue: t.queue, StaticSummary: j.Title, WorkflowExecutionErrorWhenAlreadyStarted: true,
		TypedSearchAttributes: temporal.NewSearchAttributes(AttributeStatus.ValueSet(string(jobs.Queued)), AttributeHost.ValueSet(host),
			AttributeAgent.ValueSet(cmp.Or(j.Agent, "-")), AttributeModel.ValueSet(cmp.Or(j.Model, "-"))),
	}
	soon, stop := context.WithTimeout(ctx, startPatience)
	defer stop()
	for {
		_, err := t.c.ExecuteWorkflow(soon, o, cmp.Or(j.Agent, j.Workflow), Carry{On: host, Note: note, AtOnce: atOnce})
		if !errors.As(err, new(*serviceerror.WorkflowExecutionAlreadyStarted)) {
			return err
		}
		if err = t.update(soon, j.ID, startName, atOnce); err == nil || soon.Err() != nil {
			return err
		}
		select { // it ends at this moment
		case <-time.After(100 * time.Millisecond):
		case <-soon.Done():
			return err
		}
	}
}

// startPatience bounds the time for which a start waits for workers.
const startPatience = 20 * time.Second

// update has the workflow of a job do something, and waits for it.
func (t *Cluster) update(ctx context.Context, job, name string, args ...any) error {
	h, err := t.c.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{WorkflowID: job, UpdateName: name, Args: args, WaitForStage: client.WorkflowUpdateStageCompleted})
	if err == nil {
		err = h.Get(ctx, nil)
	}
	return ended(job, err)
}

// Signal implements [adroit.Elsewhere].
func (t *Cluster) Signal(ctx context.Context, job string, sig flow.Signal) error {
	return ended(job, t.c.SignalWorkflow(ctx, job, "", signalName, letter{Signal: sig}))
}

// Stop implements [adroit.Elsewhere].
func (t *Cluster) Stop(ctx context.Context, job, reason string) error {
	soon, stop := context.WithTimeout(ctx, startPatience)
	defer stop()
	return t.update(soon, job, stopName, reason)
}

// Cancel implements [adroit.Elsewhere].
func (t *Cluster) Cancel(ctx context.Context, job string) error {
	return ended(job, t.c.CancelWorkflow(ctx, job, ""))
}

// ended is the error of a job whose workflow does not run.
func ended(job string, err error) error {
	if errors.As(err, new(*serviceerror.NotFound)) {
		return fmt.Errorf("%s: %w, or Temporal does not know it", job, jobs.ErrFinal)
	}
	return err
}

// Client returns a client of all jobs and hosts of the cluster. What Temporal does not
// answer itself is answered by the job's host, or by any for what is about no job.
func (t *Cluster) Client() adroit.Client {
	return &remote{Client: t.on(""), t: t}
}

// on is a client of one host.
func (t *Cluster) on(host string) adroit.Client {
	return api.NewClient("http://temporal", &http.Client{Transport: transport{t, host}})
}

// transport carries calls to hosts by workflows, so that Temporal keeps who called what.
type transport struct {
	*Cluster
	host string // empty: that of the job that a call is about
}

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	var sent []byte
	var err error
	if req.Body != nil {
		if sent, err = io.ReadAll(req.Body); err != nil {
			return nil, err
		}
	}
	about := struct{ Job string }{req.URL.Query().Get("job")}
	_ = json.Unmarshal(sent, &about) // what is about no job has none
	host := t.host
	if host == "" {
		if host, err = t.hostOf(req.Context(), about.Job); err != nil {
			return nil, err
		}
	}
	run, err := t.c.ExecuteWorkflow(req.Context(), client.StartWorkflowOptions{TaskQueue: t.queue, WorkflowExecutionTimeout: callTime, StaticSummary: req.URL.Path}, callName, host, req.Method, req.URL.RequestURI(), sent)
	if err != nil {
		return nil, err
	}
	var a reply
	got := make(chan error, 1)
	go func() { got <- run.Get(req.Context(), &a) }()
	select {
	case err = <-got:
	case <-time.After(callPatience):
		if d, err := t.c.DescribeWorkflowExecution(req.Context(), run.GetID(), run.GetRunID()); err == nil && d.GetWorkflowExecutionInfo().GetHistoryLength() <= untaken {
			_ = t.c.TerminateWorkflow(req.Context(), run.GetID(), run.GetRunID(), "no worker has taken it")
			return nil, away(host)
		}
		err = <-got
	}
	if err != nil {
		if req.Context().Err() != nil { // nobody waits for it any more: a worker that comes later must not do it
			_ = t.c.TerminateWorkflow(context.WithoutCancel(req.Context()), run.GetID(), run.GetRunID(), "the caller has gone")
		}
		return nil, answer(host, err)
	}
	body, err := gzip.NewReader(bytes.NewReader(a.Body))
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: a.Status, Header: a.Header, Body: body, Request: req}, nil
}

// callPatience is how long a call waits for a worker of any host, which may be another one than
// that which answers. A workflow that none has taken has untaken events at most.
const callPatience, untaken = 8 * time.Second, 3

// hostOf is the queue of the host of a job, or of any host.
func (t *Cluster) hostOf(ctx context.Context, job string) (string, error) {
	if job == "" {
		return t.queue, nil
	}
	d, err := t.c.DescribeWorkflowExecution(ctx, job, "")
	if errors.As(err, new(*serviceerror.NotFound)) {
		return t.find(ctx, job) // it never started, or long ago, or it is a part of an id
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

// find is the queue of the one host that knows a job, or of any if none does. While a host is
// away, nobody knows whether it does.
func (t *Cluster) find(ctx context.Context, ref string) (string, error) {
	hosts, err := t.hosts(ctx, 0)
	if err != nil {
		return "", err
	}
	silent, err := t.awayHosts(ctx, hosts)
	if err != nil || len(hosts)+len(silent) < 2 {
		return t.queue, err
	}
	found, errs := make([]*adroit.JobDetail, len(hosts)), make([]error, len(hosts))
	var calls sync.WaitGroup
	for i, host := range hosts {
		calls.Go(func() { found[i], errs[i] = t.on(host).Job(ctx, ref) })
	}
	calls.Wait()
	queue, id := t.queue, ""
	for i, host := range hosts {
		switch {
		case errors.Is(errs[i], errAway):
			silent = append(silent, host)
		case errs[i] != nil: // unless another one knows it, any will say why
		case id != "":
			return "", problem.Invalidf("give more of its id", "%q is %s on %s and %s on %s", ref, id, queue, found[i].Job.ID, host)
		default:
			queue, id = host, found[i].Job.ID
		}
	}
	if id == "" && len(silent) > 0 {
		return "", problem.WithHint(fmt.Errorf("unknown whether there is a job %s: %s: %w", ref, strings.Join(silent, ", "), errAway), "the hosts that answer do not have it")
	}
	return queue, nil
}

// awayHosts are the hosts of the jobs that Temporal still knows, without those that poll.
func (t *Cluster) awayHosts(ctx context.Context, polling []string) ([]string, error) {
	known := map[string]bool{}
	for next, first := []byte(nil), true; first || len(next) > 0; first = false {
		page, err := t.c.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{Namespace: t.namespace, NextPageToken: next, PageSize: 1000, Query: fmt.Sprintf("AdroitHost IS NOT NULL AND TaskQueue = %q", t.queue)})
		if err != nil {
			return nil, err
		}
		next = page.NextPageToken
		for _, e := range page.Executions {
			var host string
			if f := e.GetSearchAttributes().GetIndexedFields()[AttributeHost.GetName()]; f != nil {
				_ = json.Unmarshal(f.GetData(), &host) // a string
			}
			if host != "" && !slices.Contains(polling, host) {
				known[host] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(known)), nil
}

// errAway is a host that does not answer.
var errAway = errors.New("it does not answer: no worker of it polls Temporal")

func away(host string) error {
	return problem.WithHint(fmt.Errorf("the host %s: %w", host, errAway), "adroit worker, in its data directory, makes it answer; its jobs wait for it")
}

// answer explains why a host gave no answer.
func answer(host string, err error) error {
	refused := new(temporal.ApplicationError)
	p := new(problem.Error)
	timeout := new(temporal.TimeoutError)
	switch {
	case errors.As(err, &refused) && refused.Type() == refusedType && refused.Details(p) == nil:
		return p
	case notBegun(err):
		return away(host)
	case errors.As(err, &timeout):
		return fmt.Errorf("the host %s has not answered within %s; what it was asked to do may be done", host, callTime)
	case errors.As(err, &refused):
		return errors.New(refused.Message())
	}
	return fmt.Errorf("%s: %w", host, err)
}

// A remote is the client of jobs on Temporal: what is not here is asked of a host.
type remote struct {
	adroit.Client
	t        *Cluster
	answered sync.Map // ids of jobs that were answered through it, and go on by themselves
}

// Start implements [adroit.JobWriter]. Who has answered a job and starts it then joins it.
func (r *remote) Start(ctx context.Context, ref string, o adroit.StartOptions) (*adroit.Started, error) {
	s, err := r.Client.Start(ctx, ref, o)
	_, answered := r.answered.LoadAndDelete(ref)
	switch {
	case answered && errors.Is(err, errAway):
		return nil, problem.WithHint(fmt.Errorf("%s has its answer, and goes on when its host is back: %w", ref, err), problem.Hint(err))
	case !answered || !errors.Is(err, jobs.ErrHeld) && !errors.Is(err, jobs.ErrFinal):
		return s, err
	}
	d, err := r.Job(ctx, ref)
	if err != nil {
		return nil, err
	}
	return &adroit.Started{Job: d.Job, Config: d.Config, Worktree: d.Worktree, Sandbox: "unknown"}, nil
}

// Job implements [adroit.JobReader]. Of a job whose host is away it has what its workflow knows,
// if a worker of another host can ask that.
func (r *remote) Job(ctx context.Context, ref string) (*adroit.JobDetail, error) {
	d, gone := r.Client.Job(ctx, ref)
	if gone == nil && d.Job.Status == jobs.Running {
		if w, err := r.t.c.DescribeWorkflowExecution(ctx, d.Job.ID, ""); err == nil {
			if why := r.t.stuck(ctx, w); why != "" {
				d.Job.Status, d.Job.Reason = jobs.Blocked, why
			}
		}
	}
	if !errors.Is(gone, errAway) {
		return d, gone
	}
	soon, stop := context.WithTimeout(ctx, callPatience)
	defer stop()
	v, err := r.t.c.QueryWorkflow(soon, ref, "", statusQuery)
	if err != nil {
		return nil, gone
	}
	var s Status
	if err := v.Get(&s); err != nil {
		return nil, problem.AsError(err)
	}
	w, err := r.t.c.DescribeWorkflowExecution(ctx, ref, "")
	if err != nil {
		return nil, problem.AsError(err)
	}
	info := w.GetWorkflowExecutionInfo()
	j := &jobs.Job{ID: ref, Agent: info.GetType().GetName(), Status: jobs.Interrupted, Created: info.GetStartTime().AsTime(), Updated: info.GetStartTime().AsTime(), Questions: s.Questions,
		Reason: "its host, " + s.Host + ", is away: it goes on by itself when that is back; what it has done to files, and not committed, is there alone"}
	d = &adroit.JobDetail{Job: j, Questions: s.Questions}
	d.Config.Engine, d.Config.Host = "temporal", s.Host
	return d, nil
}

// Submit has a host take the request, that of q or the one with the fewest jobs of those that
// have what the request needs: its directory, agent, model and tools.
func (r *remote) Submit(ctx context.Context, q adroit.Request) (*adroit.Submitted, error) {
	hosts := []string{q.Host}
	if q.Host == "" {
		var err error
		if hosts, err = r.t.hosts(ctx, submitPatience); err != nil {
			return nil, problem.AsError(err)
		}
	}
	var refused, absent error
	for _, host := range hosts {
		q.Engine, q.Host = "temporal", host
		s, err := r.t.on(host).Submit(ctx, q)
		switch {
		case err == nil:
			return s, nil
		case ctx.Err() != nil:
			return nil, problem.AsError(context.Cause(ctx))
		case errors.Is(err, errAway):
			absent = cmp.Or(absent, err)
		default:
			refused = cmp.Or(refused, err)
		}
	}
	if err := cmp.Or(refused, absent); err != nil {
		return nil, problem.AsError(err)
	}
	return nil, problem.WithHint(errors.New("no worker polls Temporal: nobody can take the job"), "adroit worker makes this machine one")
}

// submitPatience is how long a request waits for a first worker.
const submitPatience = 10 * time.Second

// hosts are those whose workers have polled lately, the one with the fewest running jobs
// first. If there is none it waits for one, but not for longer than patience.
func (t *Cluster) hosts(ctx context.Context, patience time.Duration) ([]string, error) {
	for end := time.Now().Add(patience); ; {
		d, err := t.c.DescribeTaskQueue(ctx, t.queue, enums.TASK_QUEUE_TYPE_WORKFLOW)
		if err != nil {
			return nil, err
		}
		running := map[string]int64{}
		for _, p := range d.Pollers {
			if time.Since(p.GetLastAccessTime().AsTime()) < pollerGone {
				running[p.Identity] = 0
			}
		}
		list := slices.Sorted(maps.Keys(running))
		for _, host := range list {
			n, err := t.c.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{Namespace: t.namespace, Query: fmt.Sprintf("AdroitHost = %q AND ExecutionStatus = 'Running'", host)})
			if err != nil {
				return nil, err
			}
			running[host] = n.GetCount()
		}
		slices.SortStableFunc(list, func(a, b string) int { return cmp.Compare(running[a], running[b]) })
		if len(list) > 0 || time.Now().After(end) {
			return list, nil
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// pollerGone is the age of a poll at which its worker is taken for gone: one lasts a minute.
const pollerGone = 75 * time.Second

// Jobs lists the jobs of all hosts. Of a host that does not answer it lists those that have
// not ended, as far as Temporal knows them.
func (r *remote) Jobs(ctx context.Context, o adroit.ListOptions) ([]adroit.JobSummary, error) {
	open := map[string][]adroit.JobSummary{} // by host
	var next []byte
	for first := true; first || len(next) > 0; first = false {
		page, err := r.t.c.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{Namespace: r.t.namespace, NextPageToken: next, PageSize: 1000, Query: fmt.Sprintf("AdroitHost IS NOT NULL AND TaskQueue = %q", r.t.queue)})
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
			if e.Status == enums.WORKFLOW_EXECUTION_STATUS_RUNNING && o.Dir == "" && (o.Agent == "" || o.Agent == field(AttributeAgent.GetName())) && (len(o.Status) == 0 || slices.Contains(o.Status, jobs.Interrupted)) {
				j := &jobs.Job{ID: e.Execution.WorkflowId, Agent: field(AttributeAgent.GetName()), Model: field(AttributeModel.GetName()), Status: jobs.Interrupted,
					Reason: "its host, " + host + ", does not answer", Created: e.StartTime.AsTime(), Updated: e.StartTime.AsTime()}
				open[host] = append(open[host], adroit.JobSummary{Job: j})
			}
		}
	}
	polling, err := r.t.hosts(ctx, 0)
	if err != nil {
		return nil, problem.AsError(err)
	}
	for _, host := range polling { // it may have jobs that were never started
		open[host] = append(open[host], nil...)
	}
	hosts := slices.Sorted(maps.Keys(open))
	lists, errs := make([][]adroit.JobSummary, len(hosts)), make([]error, len(hosts))
	var calls sync.WaitGroup
	for i, host := range hosts {
		calls.Go(func() { lists[i], errs[i] = r.t.on(host).Jobs(ctx, o) })
	}
	calls.Wait()
	if ctx.Err() != nil {
		return nil, problem.AsError(context.Cause(ctx))
	}
	all := []adroit.JobSummary{}
	for i, host := range hosts {
		switch {
		case errors.Is(errs[i], errAway):
			lists[i] = open[host]
		case errs[i] != nil:
			return nil, errs[i]
		}
		all = append(all, lists[i]...)
	}
	slices.SortStableFunc(all, func(a, b adroit.JobSummary) int { return b.Created.Compare(a.Created) })
	if o.Limit > 0 && len(all) > o.Limit {
		all = all[:o.Limit]
	}
	return all, nil
}

// Cancel ends a job, also while no worker of its host lives: then when one does.
func (r *remote) Cancel(ctx context.Context, ref string) (*jobs.Job, error) {
	j, err := r.Client.Cancel(ctx, ref)
	if !errors.Is(err, errAway) {
		return j, err
	}
	if err := r.t.Cancel(ctx, ref); err != nil {
		return nil, problem.AsError(err)
	}
	return nil, problem.WithHint(fmt.Errorf("%s: the end was asked for, and its host has not confirmed it: %w", ref, err), "the job ends when its host is back")
}

// Signal answers a question, also while its host is away. While no worker lives at all, the name
// is the whole one.
func (r *remote) Signal(ctx context.Context, ref string, s adroit.Signal) (*adroit.SignalSent, error) {
	sent, err := r.Client.Signal(ctx, ref, s)
	if err == nil {
		r.answered.Store(sent.Job.ID, true)
	}
	if !errors.Is(err, errAway) {
		return sent, err
	}
	if d, err := r.Job(ctx, ref); err == nil {
		for _, q := range d.Questions {
			for _, full := range q.Signals {
				if short, _, _ := strings.Cut(full, "@"); short == s.Name && (s.Question == "" || s.Question == q.Path) {
					s.Name, s.Question = full, q.Path
				}
			}
		}
	}
	l := letter{Signal: flow.Signal{Name: s.Name, Value: s.Value}}
	by, err := json.Marshal(jobs.Answer{By: "owner", From: lock.Name(), Question: s.Question, Value: s.Value})
	if err != nil {
		return nil, problem.AsError(err)
	}
	name, _, _ := strings.Cut(s.Name, "@")
	l.Log = &event.Event{Time: time.Now().UTC(), Kind: event.Answer, Path: s.Question, Name: name, Text: "by owner", Data: by}
	if err := ended(ref, r.t.c.SignalWorkflow(ctx, ref, "", signalName, l)); err != nil {
		return nil, problem.AsError(err)
	}
	r.answered.Store(ref, true)
	return &adroit.SignalSent{Job: &jobs.Job{ID: ref, Status: jobs.Interrupted}, Early: true}, nil
}

// Wait waits until a job has ended, or waits for a person, its host or an operator.
func (r *remote) Wait(ctx context.Context, ref string) (*jobs.Job, error) {
	for {
		d, err := r.t.c.DescribeWorkflowExecution(ctx, ref, "")
		if errors.As(err, new(*serviceerror.NotFound)) {
			j, err := r.Job(ctx, ref)
			if err != nil {
				return nil, err
			}
			if j.Job.ID != ref { // it was a part
				ref = j.Job.ID
				continue
			}
			return r.Client.Wait(ctx, ref) // it was never started, or Temporal has forgotten it
		}
		if err != nil {
			return nil, problem.AsError(err)
		}
		info := d.GetWorkflowExecutionInfo()
		var status jobs.Status
		if f := info.GetSearchAttributes().GetIndexedFields()[AttributeStatus.GetName()]; f != nil {
			_ = json.Unmarshal(f.GetData(), &status) // a string
		}
		if why := r.t.stuck(ctx, d); why != "" {
			return &jobs.Job{ID: ref, Status: jobs.Blocked, Reason: why, Created: info.GetStartTime().AsTime()}, nil
		}
		closed := info.GetStatus() != enums.WORKFLOW_EXECUTION_STATUS_RUNNING && info.GetStatus() != enums.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW
		if closed || status == jobs.Waiting || status == jobs.Interrupted || status == jobs.Blocked {
			j, err := r.Job(ctx, ref)
			switch {
			case errors.Is(err, errAway) && !closed:
				return &jobs.Job{ID: ref, Status: jobs.Interrupted, Reason: "its host is away: it goes on by itself when that is back", Created: info.GetStartTime().AsTime()}, nil
			case err != nil:
				return nil, err
			case closed || j.Job.Status != jobs.Running && j.Job.Status != jobs.Queued: // else its host gives it back within two seconds
				return j.Job, nil
			}
		}
		select {
		case <-time.After(500 * time.Millisecond):
		case <-ctx.Done():
			return nil, problem.AsError(context.Cause(ctx))
		}
	}
}

// stuckAfter is the number of attempts after which the task of a workflow counts as stuck.
const stuckAfter = 3

// stuck is why the tasks of a job's workflow fail again and again, empty if they do not: a worker
// lacks a key, a payload or the code. Nothing is lost, and it goes on when one has it.
func (t *Cluster) stuck(ctx context.Context, d *workflowservice.DescribeWorkflowExecutionResponse) string {
	if d.GetPendingWorkflowTask().GetAttempt() < stuckAfter {
		return ""
	}
	why := "why is encrypted with a key that this machine lacks"
	history, err := t.c.WorkflowService().GetWorkflowExecutionHistoryReverse(ctx, &workflowservice.GetWorkflowExecutionHistoryReverseRequest{Namespace: t.namespace, Execution: d.GetWorkflowExecutionInfo().GetExecution(), MaximumPageSize: 20})
	if err != nil {
		why = err.Error()
	}
	for _, ev := range history.GetHistory().GetEvents() {
		if failure := ev.GetWorkflowTaskFailedEventAttributes().GetFailure(); failure != nil {
			if own := failure.GetEncodedAttributes(); own != nil {
				if _, err := (codec{keys: t.keys}).Decode([]*common.Payload{own}); err != nil {
					break
				}
			}
			why = t.options(false).FailureConverter.FailureToError(failure).Error()
			break
		}
	}
	return "no worker can go on with it, and each tries again: " + why
}

// followPatience is for how long a host may be away while its job is followed.
const followPatience = time.Minute

// Events implements [adroit.JobReader]. It asks again and again: an answer has a bounded size,
// and those that are followed come a second late, without pieces of answers. A host that is
// exchanged meanwhile ends nothing.
func (r *remote) Events(ctx context.Context, ref string, o adroit.EventOptions) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		var left time.Time // since when the host is away
		for {
			before, gone := o.After, false
			for ev, err := range r.Client.Events(ctx, ref, o) {
				if gone = o.Follow && errors.Is(err, errAway) && (left.IsZero() || time.Since(left) < followPatience); gone {
					break
				}
				if o.After = max(o.After, ev.Seq); !yield(ev, err) || err != nil {
					return
				}
			}
			switch {
			case gone && left.IsZero():
				left = time.Now()
				continue
			case gone || o.After > before:
				continue
			case !o.Follow:
				return
			}
			left = time.Time{}
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
