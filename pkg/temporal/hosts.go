package temporal

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base32"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	common "go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/taskqueue/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/pkg/adroit"
)

// A data directory has its host's name, and a line for each start of its workers. Temporal has the last start of
// each host, as a workflow that nobody runs: one that a data directory lacks was of another copy of it.
const hostFile, startsFile, startsID = "host", "host.starts", "adroit.host/"

// startEvery is the interval of new starts of a worker that goes on: a copy is older than the last one.
const startEvery = time.Hour

// enter returns the name of the host that a data directory is, which it is given for ever, unless it is a copy of
// another one. A copy may become a host of its own.
func (t *Cluster) enter(ctx context.Context, data, host string) (string, error) {
	b, err := os.ReadFile(filepath.Join(data, hostFile)) // none: a new host
	name := strings.TrimSpace(string(b))
	if err == nil {
		err = t.copied(ctx, data, name, true)
		own := errors.As(err, new(*problem.Error)) && host != "" && host != name
		switch {
		case err != nil && !own:
			return "", err
		case own:
			err = t.unused(ctx, data, host)
			for _, file := range []string{startsFile, hostFile} {
				if err == nil {
					err = os.Remove(filepath.Join(data, file))
				}
				if errors.Is(err, fs.ErrNotExist) {
					err = nil
				}
			}
		}
	} else if err = nil; host != "" {
		err = t.unused(ctx, data, host)
	}
	if err == nil {
		name, err = hostName(data, host)
	}
	if err == nil {
		err = t.start(ctx, data, name)
	}
	return name, err
}

// copied refuses a data directory that is a copy of the host's: that has had a start which the copy lacks, or, at
// the first look, a worker elsewhere answers for it.
func (t *Cluster) copied(ctx context.Context, data, host string, first bool) error {
	d, err := t.c.DescribeWorkflowExecution(ctx, startsID+host, "")
	if errors.As(err, new(*serviceerror.NotFound)) {
		return nil // the first one, or a server that lost its database
	}
	if err != nil {
		return err
	}
	var last, place string
	for name, v := range map[string]*string{"start": &last, "place": &place} {
		if err := converter.GetDefaultDataConverter().FromPayload(d.GetWorkflowExecutionInfo().GetMemo().GetFields()[name], v); err != nil {
			return err
		}
	}
	had, err := os.ReadFile(filepath.Join(data, startsFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	way := hint.Command("worker --host NAME") + ", with a new name, makes it a host of its own; if that other one is gone, " + hint.Command("continue ID --host NAME") + " then goes on with its jobs"
	if !slices.Contains(strings.Fields(string(had)), last) {
		return problem.Invalidf(way, "%s is an old copy of the data directory of the host %s, which has gone on since: a worker began there on %s", data, host, d.GetWorkflowExecutionInfo().GetStartTime().AsTime().Local().Format(time.DateTime))
	}
	if !first || place == placeOf(data) {
		return nil
	}
	_, err = t.on(host).Jobs(ctx, adroit.ListOptions{Limit: 1})
	switch {
	case err == nil:
		return problem.Invalidf(way, "%s is a copy of the data directory of the host %s, of which a worker runs elsewhere", data, host)
	case errors.Is(err, errAway): // the machine has restarted, or the directory was moved
		return nil
	}
	return err
}

// placeOf identifies a data directory where it is, until the machine restarts.
func placeOf(data string) string {
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id") // Linux has it
	return strings.TrimSpace(string(boot)) + " " + rootfs.Identity(data)
}

// start notes a start of a host's worker: in its data directory first, so that Temporal has none that it lacks.
func (t *Cluster) start(ctx context.Context, data, host string) error {
	id := rand.Text()
	f, err := rootfs.OpenLog(filepath.Join(data, startsFile), 0)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, id)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	memo := &common.Memo{Fields: map[string]*common.Payload{}} // in clear: one without the key has to read it
	for name, v := range map[string]string{"start": id, "place": placeOf(data)} {
		if memo.Fields[name], err = converter.GetDefaultDataConverter().ToPayload(v); err != nil {
			return err
		}
	}
	_, err = t.c.WorkflowService().StartWorkflowExecution(ctx, &workflowservice.StartWorkflowExecutionRequest{
		Namespace: t.namespace, WorkflowId: startsID + host, WorkflowType: &common.WorkflowType{Name: "adroit.host"}, TaskQueue: &taskqueue.TaskQueue{Name: "adroit.doctor"}, // nobody runs it
		Identity: host, RequestId: id, WorkflowIdConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_TERMINATE_EXISTING, Memo: memo,
	})
	return err
}

// guard returns an error when another copy of the data directory has become the host, and nil at the end of ctx.
func (t *Cluster) guard(ctx context.Context, data, host string) error {
	for last := time.Now(); ; {
		select {
		case <-time.After(reconcileEvery):
		case <-ctx.Done():
			return nil
		}
		err := t.copied(ctx, data, host, false)
		if errors.As(err, new(*problem.Error)) {
			return err
		}
		if err == nil && time.Since(last) > startEvery && t.start(ctx, data, host) == nil {
			last = time.Now()
		}
	}
}

// unused refuses the name of a host that is there for another data directory: each would be given steps
// of jobs that the other one has.
func (t *Cluster) unused(ctx context.Context, data, host string) error {
	known, err := t.everyHost(ctx)
	if errors.Is(err, errAway) { // it is the first one
		return nil
	}
	if err == nil && slices.Contains(known, host) {
		err = problem.Invalidf("take another name, or the data directory of that host (ADROIT_HOME)", "there is a host %s, and %s is not its data directory", host, data)
	}
	return err
}

// hostName is the name that a data directory has for ever, made where it has none.
func hostName(data, host string) (string, error) {
	file, given := filepath.Join(data, hostFile), host
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
	if strings.ContainsAny(host, "/ \t\n") || host == Queue || len(host) > mostName {
		return "", problem.Invalidf(fmt.Sprintf("letters, digits and -, at most %d, will do", mostName), "%q cannot be the name of a host", host)
	}
	err := rootfs.MkdirAll(data)
	if err == nil {
		err = rootfs.CreateFile(file, 0o600, []byte(host+"\n"))
	}
	if errors.Is(err, fs.ErrExist) { // another worker was first
		return hostName(data, given)
	}
	return host, err
}

// mostName bounds the name of a host: a server polls nothing under one of more than 1,000 bytes.
const mostName = 200

// hosts returns the hosts whose workers have polled lately, the one with the fewest running jobs first. If
// there is none it waits for one, but not for longer than patience.
func (t *Cluster) hosts(ctx context.Context, patience time.Duration) ([]string, error) {
	for end := time.Now().Add(patience); ; {
		list, err := t.polling(ctx)
		if err != nil {
			return nil, err
		}
		running := map[string]int64{}
		for _, host := range list {
			n, err := t.c.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{Namespace: t.namespace, Query: fmt.Sprintf("AdroitHost = %q AND ExecutionStatus = 'Running'", host)})
			if err != nil {
				return nil, unregistered(err)
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

// polling returns the hosts whose workers have polled lately.
func (t *Cluster) polling(ctx context.Context) (list []string, err error) {
	d, err := t.c.DescribeTaskQueue(ctx, t.queue, enums.TASK_QUEUE_TYPE_WORKFLOW)
	if err != nil {
		return nil, err
	}
	for _, p := range d.Pollers {
		if !t.older(ctx, p.GetLastAccessTime(), pollerGone) {
			list = append(list, p.Identity)
		}
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}

// quiet reports whether a host did not answer a moment ago, and has not polled since.
func (t *Cluster) quiet(ctx context.Context, host string) bool {
	v, ok := t.silent.Load(host)
	if !ok || time.Since(v.(time.Time)) > silentFor {
		return false
	}
	d, err := t.c.DescribeTaskQueue(ctx, host, enums.TASK_QUEUE_TYPE_ACTIVITY)
	t.mu.Lock()
	at := v.(time.Time).Add(t.now().Sub(time.Now()) - t.skew)
	t.mu.Unlock()
	return err == nil && !slices.ContainsFunc(d.Pollers, func(p *taskqueue.PollerInfo) bool { return p.GetLastAccessTime().AsTime().After(at) })
}

// pollerGone is the age of a poll at which its worker is taken for gone: one lasts a minute.
const pollerGone = 75 * time.Second

// byHost has the ids of the jobs that Temporal still knows, by host.
func (t *Cluster) byHost(ctx context.Context) (map[string][]string, error) {
	known := map[string][]string{}
	err := t.executions(ctx, fmt.Sprintf("AdroitHost IS NOT NULL AND TaskQueue = %q", t.queue), func(info *workflowpb.WorkflowExecutionInfo) {
		if j, host := t.known(info); host != "" {
			known[host] = append(known[host], j.ID)
		}
	})
	return known, err
}

// everyHost is each host that polls or has jobs. The first one may begin at this moment.
func (t *Cluster) everyHost(ctx context.Context) ([]string, error) {
	known, err := t.byHost(ctx)
	if err != nil {
		return nil, err
	}
	hosts, err := t.hosts(ctx, firstPoll(known))
	if err != nil {
		return nil, err
	}
	return each(ctx, t, hosts, known)
}

// firstPoll bounds the wait for the poll of a worker that has just begun, where no host is known.
func firstPoll[T any](known map[string]T) time.Duration {
	if len(known) > 0 {
		return 0
	}
	return 2 * time.Second
}

// each is each host that polls, which may have jobs that were never started, or has jobs. None is an error. Those
// that do not poll are not asked: a host that is gone has jobs until their retention is over.
func each[T any](ctx context.Context, t *Cluster, polling []string, known map[string]T) ([]string, error) {
	hosts := slices.Compact(slices.Sorted(slices.Values(slices.AppendSeq(slices.Clone(polling), maps.Keys(known)))))
	if len(hosts) == 0 {
		return nil, t.away(ctx, t.queue)
	}
	for _, host := range hosts {
		if !slices.Contains(polling, host) {
			t.silent.Store(host, time.Now())
		}
	}
	return hosts, nil
}

// ofEach asks hosts at once, and gives take the answer of one after the other, in their order; away is one that
// does not answer.
func ofEach[T any](ctx context.Context, t *Cluster, hosts []string, ask func(adroit.Client) (T, error), take func(host string, answer T, away bool)) error {
	answers, errs := make([]T, len(hosts)), make([]error, len(hosts))
	var calls sync.WaitGroup
	for i, host := range hosts {
		calls.Go(func() { answers[i], errs[i] = ask(t.on(host)) })
	}
	calls.Wait()
	if ctx.Err() != nil {
		return problem.AsError(context.Cause(ctx))
	}
	for i, host := range hosts {
		away := errors.Is(errs[i], errAway)
		if errs[i] != nil && !away {
			return errs[i]
		}
		take(host, answers[i], away)
	}
	return nil
}

// ofAll is ofEach for every host that has jobs or polls.
func ofAll[T any](ctx context.Context, r *remote, ask func(adroit.Client) (T, error), take func(host string, answer T, away bool)) error {
	hosts, err := r.t.everyHost(ctx)
	if err != nil {
		return problem.AsError(err)
	}
	return ofEach(ctx, r.t, hosts, ask, take)
}

// ofAny asks every host to do a thing, and returns the answers, at least one, and the hosts that gave none. What a
// host refuses is an error only if each does.
func ofAny[T any](ctx context.Context, r *remote, ask func(adroit.Client) (T, error)) (answers []T, absent []string, err error) {
	type done struct {
		answer T
		err    error
	}
	var refused error
	err = ofAll(ctx, r, func(c adroit.Client) (d done, err error) {
		if d.answer, d.err = ask(c); errors.Is(d.err, errAway) {
			err = d.err
		}
		return d, err
	}, func(host string, d done, away bool) {
		switch {
		case away:
			absent = append(absent, host)
		case d.err != nil:
			refused = d.err
		default:
			answers = append(answers, d.answer)
		}
	})
	if err == nil && len(answers) == 0 {
		if err = refused; err == nil {
			err = r.t.away(ctx, r.t.queue)
		}
	}
	return answers, absent, err
}

// remembers is the error of hosts that have not answered, and so not forgotten.
func remembers(absent []string, forgotten int, what string) error {
	if len(absent) == 0 {
		return nil
	}
	return &problem.Error{Kind: problem.Away, Message: fmt.Sprintf("%d were forgotten; no answer of %s, with %s of its own", forgotten, strings.Join(absent, ", "), what), Hint: "do it again when it is back", Err: errAway}
}

// anyone has a host answer what is about no job: any that lives, then the first by name that has what the request
// names, as a directory. That has what is written: what it is asked to change, it is asked for next.
func (t transport) anyone(req *http.Request, sent []byte) (lacks *http.Response, err error) {
	hosts, err := t.polling(req.Context())
	if err != nil {
		return nil, err
	}
	kept := req.URL.Path == "/v1/trust/set" || req.URL.Path == "/v1/pipelines/read" || req.URL.Path == "/v1/pipelines/write"
	if !kept {
		hosts = slices.Insert(hosts, 0, t.queue)
	}
	for _, host := range hosts {
		if t.quiet(req.Context(), host) {
			continue
		}
		res, err := t.send(req, host, sent)
		if errors.Is(err, errAway) && host != t.queue {
			continue
		}
		if err != nil || res.StatusCode != http.StatusNotFound {
			return res, err
		}
		lacks = cmp.Or(lacks, res)
	}
	if lacks == nil {
		return t.send(req, t.queue, sent)
	}
	return lacks, nil
}

// byRank joins lists: the first of each before the others.
func byRank[T any](lists [][]T) []T {
	all := []T{}
	for rank, more := 0, true; more; rank++ {
		more = false
		for _, list := range lists {
			if rank < len(list) {
				all, more = append(all, list[rank]), true
			}
		}
	}
	return all
}

// older reports whether a moment of the server is longer ago than most by the server's clock. Where this machine's
// finds it long ago, or to come, the two are compared, because this one may be wrong.
func (t *Cluster) older(ctx context.Context, at *timestamppb.Timestamp, most time.Duration) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	age := func() time.Duration { return t.now().Sub(at.AsTime()) - t.skew }
	if d := age(); (d > most || d < -mostSkew) && time.Since(t.compared) > compareEvery {
		if skew, err := t.compare(ctx); err == nil {
			t.skew = skew
		}
		t.compared = time.Now()
	}
	return age() > most
}

// compareEvery is the least interval between two comparisons of a process.
const compareEvery = time.Minute

// compare returns by how much the clock of this machine is ahead of the server's, which is the start of a workflow
// that nobody runs.
func (t *Cluster) compare(ctx context.Context) (skew time.Duration, err error) {
	ctx, stop := context.WithTimeout(ctx, callPatience)
	defer stop()
	before := t.now()
	run, err := t.c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{TaskQueue: "adroit.doctor", WorkflowExecutionTimeout: time.Minute}, "adroit.clock")
	if err != nil {
		return 0, err
	}
	after := t.now()
	d, err := t.c.DescribeWorkflowExecution(ctx, run.GetID(), run.GetRunID())
	switch at := d.GetWorkflowExecutionInfo().GetStartTime().AsTime(); {
	case err != nil:
	case at.Before(before):
		skew = before.Sub(at)
	case at.After(after):
		skew = after.Sub(at)
	}
	return skew, errors.Join(err, t.c.TerminateWorkflow(context.WithoutCancel(ctx), run.GetID(), run.GetRunID(), "its start was read"))
}
