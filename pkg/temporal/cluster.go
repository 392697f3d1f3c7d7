package temporal

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/api"
	"github.com/adroit-run/adroit/pkg/config"
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
	long      int                    // Carry.Long of jobs that start: of tests
	build     func() (string, error) // of this program, for its workers: see thisBuild
	placed    sync.Map               // hosts by id, of jobs that were submitted through it
	silent    sync.Map               // times by host that did not answer

	now      func() time.Time // the clock of this machine
	mu       sync.Mutex       // of skew
	skew     time.Duration    // by which that is ahead of the server's, as far as is known
	compared time.Time
}

// Dial connects to the frontend that at names, and to the keys and the store of payloads.
func Dial(ctx context.Context, at config.Temporal) (*Cluster, error) {
	if _, _, err := net.SplitHostPort(strings.TrimPrefix(at.Address, "dns:///")); err != nil {
		return nil, problem.Invalidf("for example temporal.example.com:7233", "temporal.address has to be HOST:PORT: %v", err)
	}
	soon, stop := context.WithTimeout(ctx, 10*time.Second)
	defer stop()
	if info, err := os.Stat(at.Store); at.Store != "" && (err != nil || !info.IsDir()) {
		return nil, problem.Invalidf("it is mounted or made before, the same one for all hosts", "temporal.store: %s is no directory", at.Store)
	}
	t := &Cluster{namespace: at.Namespace, queue: Queue, store: &store{dir: at.Store}, build: thisBuild, now: time.Now}
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
	if o.Credentials != nil && o.ConnectionOptions.TLS == nil {
		o.ConnectionOptions.TLS = &tls.Config{MinVersion: tls.VersionTLS12} // as the SDK would
	}
	if t.c, err = client.DialContext(soon, o); err != nil {
		return nil, unreached(ctx, strings.TrimPrefix(at.Address, "dns:///"), o.ConnectionOptions.TLS, err)
	}
	d, err := t.describe(soon)
	if lacks := errors.As(err, new(*serviceerror.NamespaceNotFound)); lacks || err != nil && at.Store != "" { // else it may be a key that may not look
		t.c.Close()
		return nil, err
	}
	t.store.namespace = d.GetNamespaceInfo().GetId()
	return t, nil
}

// options returns the options of a client: of a worker, whose workflows insist on keys, or of any other.
func (t *Cluster) options(worker bool) client.Options {
	data := converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), codec{t.keys, worker})
	return client.Options{
		Namespace: t.namespace, Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler)), DataConverter: data,
		FailureConverter: temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{DataConverter: data, EncodeCommonAttributes: t.keys != nil}),
		ExternalStorage:  converter.ExternalStorage{Drivers: []converter.StorageDriver{t.store}, DriverSelector: t.store, PayloadSizeThreshold: storedFrom},
	}
}

// unreached explains why there is no connection: the SDK's err is that of the last of its attempts, or of none.
func unreached(ctx context.Context, address string, secure *tls.Config, err error) error {
	ctx, stop := context.WithTimeout(ctx, 5*time.Second)
	defer stop()
	c, gone := new(net.Dialer).DialContext(ctx, "tcp", address)
	if gone != nil {
		return problem.WithHint(gone, "temporal.address in the configuration, or TEMPORAL_ADDRESS, names another one; temporal server start-dev starts one on this machine")
	}
	defer c.Close()
	if secure == nil {
		return problem.WithHint(err, "a server with TLS needs temporal.tls: {enabled: true}; temporal.address, or TEMPORAL_ADDRESS, names another one")
	}
	if secure = secure.Clone(); secure.ServerName == "" {
		secure.ServerName, _, _ = net.SplitHostPort(address) // it was connected to
	}
	if refused := tls.Client(c, secure).HandshakeContext(ctx); refused != nil {
		return problem.WithHint(refused, "temporal.tls has ca, the authority that signs, and server_name, if it differs from that of temporal.address; a server without TLS needs neither temporal.tls nor a key")
	}
	return problem.WithHint(err, "if the server asks for a certificate of this client, temporal.tls has cert and key; temporal.api_key_file has the key for an API")
}

func (t *Cluster) describe(ctx context.Context) (*workflowservice.DescribeNamespaceResponse, error) {
	d, err := t.c.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: t.namespace})
	switch {
	case errors.As(err, new(*serviceerror.NamespaceNotFound)):
		return nil, problem.WithHint(err, "temporal operator namespace create --namespace "+t.namespace+" makes it; temporal.namespace, or TEMPORAL_NAMESPACE, names another one")
	case err != nil:
		return nil, fmt.Errorf("looking at the namespace %s of Temporal: %w", t.namespace, err)
	}
	return d, nil
}

// Close ends the connection.
func (t *Cluster) Close() error { t.c.Close(); return nil }

// Start implements [adroit.Elsewhere].
func (t *Cluster) Start(ctx context.Context, j *jobs.Job, host, note string, atOnce int) error {
	dir, _, _ := strings.Cut(cmp.Or(j.Scope, j.Dir), "//") // the repository of a worktree
	o := client.StartWorkflowOptions{
		ID: j.ID, TaskQueue: t.queue, StaticSummary: j.Title, WorkflowExecutionErrorWhenAlreadyStarted: true, Memo: memo(about{j.Title, dir}),
		TypedSearchAttributes: temporal.NewSearchAttributes(AttributeStatus.ValueSet(string(jobs.Queued)), AttributeHost.ValueSet(host),
			AttributeAgent.ValueSet(cmp.Or(j.Agent, "-")), AttributeModel.ValueSet(cmp.Or(j.Model, "-"))),
	}
	soon, stop := context.WithTimeout(ctx, startPatience)
	defer stop()
	for {
		_, err := t.c.ExecuteWorkflow(soon, o, cmp.Or(j.Agent, j.Workflow), Carry{On: host, Note: note, AtOnce: atOnce, Long: t.long})
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
	if errors.As(err, new(*client.WorkflowUpdateServiceTimeoutOrCanceledError)) || errors.As(err, new(*serviceerror.WorkflowNotReady)) {
		ctx := context.WithoutCancel(ctx)
		d, _ := t.c.DescribeWorkflowExecution(ctx, job, "") // nil: no reason is known
		why := cmp.Or(t.stuck(ctx, d), "no worker has taken it in time")
		err = problem.WithHint(fmt.Errorf("%s: %s", job, why), hint.Command("worker doctor")+" checks what its hosts need")
	}
	return ended(job, err)
}

// Signal implements [adroit.Elsewhere].
func (t *Cluster) Signal(ctx context.Context, job string, sig flow.Signal) error {
	return ended(job, t.c.SignalWorkflow(ctx, job, "", signalName, post(sig)))
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
	return api.NewClient("", &http.Client{Transport: transport{t, host}})
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
	if host == t.queue && t.host == "" && about.Job == "" {
		return t.anyone(req, sent)
	}
	return t.send(req, host, sent)
}

// send has a host answer a request.
func (t transport) send(req *http.Request, host string, sent []byte) (*http.Response, error) {
	if t.quiet(req.Context(), host) {
		return nil, t.away(req.Context(), host)
	}
	packed, err := pack(sent)
	if err == nil && t.store.dir == "" && len(packed) > mostCall {
		err = problem.Invalidf("", "the call: %s", tooBig(len(packed), mostCall))
	}
	if err != nil {
		return nil, err
	}
	run, err := t.c.ExecuteWorkflow(req.Context(), client.StartWorkflowOptions{TaskQueue: t.queue, WorkflowExecutionTimeout: callTime, StaticSummary: req.URL.Path}, callName, host, req.Method, req.URL.RequestURI(), packed)
	if err != nil {
		return nil, err
	}
	var a reply
	got := make(chan error, 1)
	go func() { got <- run.Get(req.Context(), &a) }()
	for waits := true; waits; {
		select {
		case err = <-got:
			waits = false
		case <-time.After(callPatience):
			d, unknown := t.c.DescribeWorkflowExecution(req.Context(), run.GetID(), run.GetRunID())
			switch {
			case unknown != nil: // it ends
			case d.GetWorkflowExecutionInfo().GetHistoryLength() <= untaken:
				_ = t.c.TerminateWorkflow(req.Context(), run.GetID(), run.GetRunID(), "no worker has taken it")
				return nil, t.unanswered(req.Context(), host)
			case d.GetPendingWorkflowTask().GetAttempt() >= stuckAfter:
				why := t.stuck(req.Context(), d)
				_ = t.c.TerminateWorkflow(req.Context(), run.GetID(), run.GetRunID(), "no worker can read it")
				return nil, unlike(fmt.Errorf("the call of %s: %s", named(host), why))
			}
		}
	}
	if err != nil {
		// Nobody waits for it any more: a worker that comes later must not do it. It may have ended.
		_ = t.c.TerminateWorkflow(context.WithoutCancel(req.Context()), run.GetID(), run.GetRunID(), "the caller has gone")
		return nil, t.answer(req.Context(), host, err)
	}
	body, err := gzip.NewReader(bytes.NewReader(a.Body))
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: a.Status, Header: a.Header, Body: body, Request: req}, nil
}

// silentFor is the time for which a host that did not answer is not asked again: a command asks several times.
const silentFor = 5 * time.Second

// unanswered is the error of a call that a host did not answer, or none.
func (t *Cluster) unanswered(ctx context.Context, host string) error {
	if host != t.queue {
		t.silent.Store(host, time.Now())
	}
	return t.away(ctx, host)
}

// callPatience bounds the wait of a call for a worker of any host, not only of the one that answers. A
// workflow that none has taken has untaken events at most.
const callPatience, untaken = 8 * time.Second, 3

// hostOf is the queue of the host of a job, or of any host.
func (t *Cluster) hostOf(ctx context.Context, job string) (string, error) {
	if job == "" {
		return t.queue, nil
	}
	d, err := t.c.DescribeWorkflowExecution(ctx, job, "")
	if errors.As(err, new(*serviceerror.NotFound)) {
		if host, ok := t.placed.Load(job); ok {
			return host.(string), nil
		}
		queue, _, err := t.find(ctx, job) // it never started, or long ago, or it is a part of an id
		return queue, err
	}
	if err != nil {
		return "", err
	}
	t.placed.Delete(job)
	return cmp.Or(keyword(d.GetWorkflowExecutionInfo(), AttributeHost), t.queue), nil
}

// find is the one job that ref means, which may be a part of its id, and the queue of its host; that of any
// host if none has such a job. Of a host that is away it is known what Temporal has.
func (t *Cluster) find(ctx context.Context, ref string) (queue, id string, err error) {
	hosts, err := t.hosts(ctx, 0)
	if err != nil {
		return "", "", err
	}
	known, err := t.byHost(ctx)
	if err != nil {
		return "", "", err
	}
	silent := slices.DeleteFunc(slices.Sorted(maps.Keys(known)), func(host string) bool { return slices.Contains(hosts, host) })
	if len(hosts) < 2 && len(silent) == 0 {
		return t.queue, "", nil
	}
	found := map[string]string{} // hosts by id
	err = ofEach(ctx, t, hosts, func(c adroit.Client) (*adroit.JobDetail, error) {
		d, err := c.Job(ctx, ref)
		if errors.Is(err, jobs.ErrNotExist) {
			return nil, nil
		}
		return d, err
	}, func(host string, d *adroit.JobDetail, away bool) {
		if away {
			silent = append(silent, host)
		} else if d != nil {
			found[d.Job.ID] = host
		}
	})
	if err != nil {
		return "", "", err
	}
	part := strings.ToUpper(strings.TrimSpace(ref))
	for _, host := range silent {
		for _, id := range known[host] {
			if len(part) > 1 && (strings.HasPrefix(id, part) || strings.HasSuffix(id, part)) {
				found[id] = host
			}
		}
	}
	switch ids := slices.Sorted(maps.Keys(found)); {
	case len(ids) == 1:
		return found[ids[0]], ids[0], nil
	case len(ids) > 1:
		return "", "", problem.Invalidf("give more of its id", "%q is %s on %s and %s on %s", ref, ids[0], found[ids[0]], ids[1], found[ids[1]])
	case len(silent) > 0:
		return "", "", &problem.Error{Kind: problem.Away, Message: fmt.Sprintf("unknown whether there is a job %s: no answer of %s", ref, strings.Join(silent, ", ")), Hint: "the hosts that answer do not have it", Err: errAway}
	}
	return t.queue, "", nil
}

// unregistered has a hint where a query was refused: an empty server does not know what it asks for.
func unregistered(err error) error {
	if errors.As(err, new(*serviceerror.InvalidArgument)) {
		return problem.WithHint(err, "an empty server lacks adroit's search attributes: "+hint.Command("worker doctor")+" registers them, as each worker does when it starts")
	}
	return err
}

// executions gives take the executions that a query of Temporal's list finds: those that are open, then the
// newest first.
func (t *Cluster) executions(ctx context.Context, query string, take func(*workflowpb.WorkflowExecutionInfo)) error {
	for next, first := []byte(nil), true; first || len(next) > 0; first = false {
		page, err := t.c.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{Namespace: t.namespace, NextPageToken: next, PageSize: 1000, Query: query})
		if err != nil {
			return unregistered(err)
		}
		next = page.NextPageToken
		for _, e := range page.Executions {
			take(e)
		}
	}
	return nil
}

// errAway is a host that does not answer.
var errAway error = &problem.Error{Kind: problem.Away, Message: "it does not answer: no worker of it polls Temporal"}

// errLate is a call that was taken and not answered.
var errLate = errors.New("no answer in time")

// away explains that a host, or any, does not answer.
func (t *Cluster) away(ctx context.Context, host string) error {
	if host == t.queue {
		return &problem.Error{Kind: problem.Away, Message: "no worker polls Temporal: no host answers", Hint: hint.Command("worker") + " makes this machine a host", Err: errAway}
	}
	err := fmt.Errorf("the host %s: %w", host, errAway)
	if hosts, e := t.hosts(ctx, 0); e == nil && slices.Contains(hosts, host) {
		err = &problem.Error{Kind: problem.Away, Message: fmt.Sprintf("the host %s: it does not answer: its worker is stopping, or ended less than %s ago", host, pollerGone), Err: errAway}
	}
	return problem.WithHint(err, hint.Command("worker")+", in its data directory, makes it answer; its jobs wait for it")
}

// answeredAway explains that the host of a job that was answered is away.
func answeredAway(ref string, err error) error {
	return problem.WithHint(fmt.Errorf("%s has its answer, and goes on when its host is back: %w", ref, err), problem.Hint(err))
}

// unlike is the error of a call that this machine and a host do not read alike.
func unlike(err error) error {
	return problem.WithHint(err, hint.Command("worker doctor")+", here and there, checks what both need to have in common")
}

// named is a host in a sentence.
func named(host string) string {
	if host == Queue {
		return "any host"
	}
	return "the host " + host
}

// answer explains why a host gave no answer.
func (t *Cluster) answer(ctx context.Context, host string, err error) error {
	refused := new(temporal.ApplicationError)
	p := new(problem.Error)
	timeout := new(temporal.TimeoutError)
	switch {
	case errors.As(err, &refused) && refused.Type() == refusedType && refused.Details(p) == nil:
		return p
	case notBegun(err):
		return t.unanswered(ctx, host)
	case errors.As(err, &timeout):
		return &problem.Error{Kind: problem.Away, Message: fmt.Sprintf("%s has not answered within %s; what it was asked to do may be done", named(host), callTime), Err: errLate}
	case errors.As(err, &refused):
		return errors.New(refused.Message())
	}
	for inner := err; inner != nil; inner = errors.Unwrap(inner) {
		switch inner.(type) {
		case *temporal.WorkflowExecutionError, *temporal.ActivityError: // the cause is for people, the ids are not
			err = cmp.Or(errors.Unwrap(inner), err)
		}
	}
	return unlike(fmt.Errorf("%s: %w", named(host), err))
}

const callName = "adroit.call"

// A reply is a host's response from the interface of pkg/api.
type reply struct {
	Status int
	Header http.Header
	Body   []byte // gzip
}

// pack compresses the body of a call or of its answer: it goes through Temporal twice.
func pack(b []byte) ([]byte, error) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err := z.Write(b)
	err = errors.Join(err, z.Close())
	return packed.Bytes(), err
}

// mostCall bounds the body of a call without a store: a server takes 2 MB.
const mostCall = 2<<20 - 64<<10

// mostSent bounds the body of a call, which a host holds in memory.
const mostSent = 64 << 20

// unpack is the body of a call.
func unpack(packed []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(z, mostSent+1))
	if err == nil && len(b) > mostSent {
		err = refusal(errors.New("the call: " + tooBig(len(b), mostSent)))
	}
	return b, err
}

// call is the workflow that carries a call to a host, and keeps who changed what.
func call(ctx workflow.Context, host, method, path string, body []byte) (a *reply, err error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: host, StartToCloseTimeout: callTime, ScheduleToStartTimeout: 5 * time.Second,
		RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1}, Summary: path,
	})
	err = workflow.ExecuteActivity(ctx, callName, method, path, body).Get(ctx, &a)
	return a, err
}

// callTime bounds a call, and followTime one that waits for events.
const callTime, followTime = time.Minute, 15 * time.Second

// call answers a call with the Runtime of this host. One that follows the events of a job is
// answered when there are some, or the job does not run, and at the latest after followTime.
func (w *Worker) call(ctx context.Context, method, path string, packed []byte) (*reply, error) {
	body, err := unpack(packed)
	if err != nil {
		return nil, err
	}
	plain, follows := path, false
	if u, err := url.Parse(path); err == nil && u.Query().Get("follow") == "true" {
		q := u.Query()
		q.Set("follow", "false")
		q.Set("live", "false")
		u.RawQuery, follows = q.Encode(), true
		plain = u.String()
	}
	for end := time.Now().Add(followTime); ; {
		r := httptest.NewRecorder()
		running := follows && w.running(ctx, path) // before the events, so that none is missed
		api.Handler(w.rt).ServeHTTP(r, httptest.NewRequest(method, plain, bytes.NewReader(body)).WithContext(ctx))
		if r.Header().Get("Content-Type") == "text/event-stream" && r.Body.Len() > mostBytes {
			if i := bytes.LastIndex(r.Body.Bytes()[:mostBytes], []byte("\n\n")); i > 0 { // the rest is asked for
				r.Body.Truncate(i + 2)
				r.Body.WriteString("event: end\ndata: {}\n\n")
			}
		}
		if !running || bytes.HasPrefix(r.Body.Bytes(), []byte("id:")) || time.Now().After(end) {
			answer, err := pack(r.Body.Bytes())
			if err != nil {
				return nil, err
			}
			if most := w.most(); len(answer) > most {
				return nil, refusal(errors.New("the answer: " + tooBig(len(answer), most)))
			}
			return &reply{r.Code, r.Header(), answer}, nil
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// running reports whether the job that a call is about runs, and so may have more events.
func (w *Worker) running(ctx context.Context, path string) bool {
	u, err := url.Parse(path)
	if err != nil {
		return false
	}
	if !u.Query().Has("job") { // all of them
		return true
	}
	j, err := jobs.Find(ctx, w.store, u.Query().Get("job"))
	return err == nil && (j.Status == jobs.Running || j.Status == jobs.Queued)
}
