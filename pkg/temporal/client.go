package temporal

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/temporal"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/system/lock"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// A remote is the client of jobs on Temporal: what is not here is asked of a host.
type remote struct {
	adroit.Client
	t        *Cluster
	answered sync.Map // ids of jobs that were answered through it, and go on by themselves
	places   cursors  // of readers of all events
}

// Start implements [adroit.JobWriter]. Starting a job after answering it joins it.
func (r *remote) Start(ctx context.Context, ref string, o adroit.StartOptions) (*adroit.Started, error) {
	s, err := r.Client.Start(ctx, ref, o)
	_, answered := r.answered.LoadAndDelete(ref)
	switch {
	case answered && errors.Is(err, errAway):
		return nil, answeredAway(ref, err)
	case !answered || !errors.Is(err, jobs.ErrHeld) && !errors.Is(err, jobs.ErrFinal):
		return s, err
	}
	d, err := r.Job(ctx, ref)
	if err != nil {
		return nil, err
	}
	return &adroit.Started{Job: d.Job, Config: d.Config, Worktree: d.Worktree}, nil // its host knows the sandbox
}

// Job implements [adroit.JobReader]. Of a job whose host is away it has what its workflow knows,
// if a worker of another host can ask that.
func (r *remote) Job(ctx context.Context, ref string) (*adroit.JobDetail, error) {
	d, gone := r.Client.Job(ctx, ref)
	if gone == nil && !d.Job.Status.Final() {
		if w, err := r.t.c.DescribeWorkflowExecution(ctx, d.Job.ID, ""); err == nil {
			if why := r.t.stuck(ctx, w); why != "" {
				d.Job.Status, d.Job.Reason = jobs.Blocked, why
			}
		}
	}
	if !errors.Is(gone, errAway) {
		return d, gone
	}
	return r.absent(ctx, r.whole(ctx, ref), gone)
}

// absent is the job whose host has not answered, which is the error gone.
func (r *remote) absent(ctx context.Context, ref string, gone error) (*adroit.JobDetail, error) {
	w, err := r.t.c.DescribeWorkflowExecution(ctx, ref, "")
	if err != nil {
		return nil, gone
	}
	j, host := r.t.known(w.GetWorkflowExecutionInfo())
	if j.Status == jobs.Interrupted {
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
		j.Questions = s.Questions
	}
	d := &adroit.JobDetail{Job: j, Questions: j.Questions}
	d.Config.Engine, d.Config.Host = "temporal", host
	return d, nil
}

// keyword is a search attribute of an execution, empty where it has none.
func keyword(info *workflowpb.WorkflowExecutionInfo, a temporal.SearchAttributeKeyKeyword) (v string) {
	_ = json.Unmarshal(info.GetSearchAttributes().GetIndexedFields()[a.GetName()].GetData(), &v) // a string, or none
	return v
}

// known is a job as Temporal has it, for while its host is away.
func (t *Cluster) known(info *workflowpb.WorkflowExecutionInfo) (j *jobs.Job, host string) {
	field := func(a temporal.SearchAttributeKeyKeyword) string { return strings.TrimPrefix(keyword(info, a), "-") }
	about, begun := t.about(info.GetMemo()), info.GetStartTime().AsTime()
	j = &jobs.Job{ID: info.GetExecution().GetWorkflowId(), Agent: field(AttributeAgent), Model: field(AttributeModel), Title: about.Title, Dir: about.Dir, Created: begun, Updated: begun}
	j.Workflow, j.Status, host = cmp.Or(j.Agent, info.GetType().GetName()), jobs.Status(field(AttributeStatus)), field(AttributeHost)
	if info.GetCloseTime() == nil {
		j.Status, j.Reason = jobs.Interrupted, "its host, "+host+", is away: it goes on by itself when that is back; what it has done to files, and not committed, is there alone"
		return j, host
	}
	j.Finished = info.GetCloseTime().AsTime()
	j.Updated, j.Reason = j.Finished, "its host, "+host+", is away: its answer, its events and what it has done to files are there alone"
	switch of := info.GetStatus(); {
	case of == enums.WORKFLOW_EXECUTION_STATUS_CANCELED, of == enums.WORKFLOW_EXECUTION_STATUS_TERMINATED:
		j.Status = jobs.Cancelled
	case !j.Status.Final():
		j.Status = jobs.Failed
	}
	return j, host
}

// Submit has a host take the request, that of q or the one with the fewest jobs of those that
// have what the request needs: its directory, agent, model and tools.
func (r *remote) Submit(ctx context.Context, q adroit.Request) (*adroit.Submitted, error) {
	hosts := []string{q.Host}
	if err := r.t.takes(q); err != nil {
		return nil, err
	}
	if q.Host == "" {
		var err error
		if hosts, err = r.t.hosts(ctx, submitPatience); err != nil {
			return nil, problem.AsError(err)
		}
	}
	first := new(problem.Error) // of the hosts' refusals
	var texts []string
	by := map[string][]string{} // hosts by text
	for _, host := range hosts {
		q.Engine, q.Host = "temporal", host
		s, err := r.submit(ctx, q)
		if err == nil {
			return s, nil
		}
		if ctx.Err() != nil {
			return nil, problem.AsError(context.Cause(ctx))
		}
		p := problem.AsError(err)
		if len(texts) == 0 || errors.Is(first, errAway) { // one that answers says more
			first = p
		}
		if by[p.Message] = append(by[p.Message], host); len(by[p.Message]) == 1 {
			texts = append(texts, p.Message)
		}
	}
	if len(hosts) == 0 {
		return nil, problem.WithHint(errors.New("no worker polls Temporal: nobody can take the job"), hint.Command("worker")+" makes this machine one")
	}
	all := *first
	for i, text := range texts {
		if len(hosts) > 1 {
			text = strings.Join(by[text], ", ") + ": " + text
		}
		texts[i] = text
	}
	all.Message = strings.Join(texts, "; ")
	return nil, &all
}

// submit has the host of a request take it.
func (r *remote) submit(ctx context.Context, q adroit.Request) (*adroit.Submitted, error) {
	s, err := r.t.on(q.Host).Submit(ctx, q)
	if err == nil {
		r.t.placed.Store(s.Job.ID, q.Host)
	} else if errors.Is(err, errAway) {
		if hosts, e := r.t.everyHost(ctx); (e == nil || errors.Is(e, errAway)) && !slices.Contains(hosts, q.Host) {
			err = problem.Invalidf("those that poll or have jobs: "+cmp.Or(strings.Join(hosts, ", "), "none"), "Temporal knows no host %s%s", q.Host, spelling.DidYouMean(q.Host, hosts))
		}
	}
	return s, err
}

// submitPatience bounds a request's wait for a first worker.
const submitPatience = 10 * time.Second

// list has the jobs of all hosts, those of one that does not answer as Temporal knows them.
func (r *remote) list(ctx context.Context, o adroit.ListOptions) ([]adroit.JobSummary, error) {
	known := map[string][]adroit.JobSummary{} // by host
	owner := map[string]string{}              // hosts by id: a data directory that was copied has the others' jobs, too
	under := func(a, b string) bool { return strings.HasPrefix(a+"/", b+"/") }
	err := r.t.executions(ctx, fmt.Sprintf("AdroitHost IS NOT NULL AND TaskQueue = %q", r.t.queue), func(info *workflowpb.WorkflowExecutionInfo) {
		j, host := r.t.known(info)
		known[host] = append(known[host], nil...)
		_, again := owner[j.ID] // the newest of its executions is first
		owner[j.ID] = cmp.Or(owner[j.ID], host)
		if !again && (o.Dir == "" || under(o.Dir, j.Dir) || under(j.Dir, o.Dir)) && (o.Agent == "" || o.Agent == j.Agent) && (len(o.Status) == 0 || slices.Contains(o.Status, j.Status)) {
			known[host] = append(known[host], adroit.JobSummary{Job: j})
		}
	})
	if err != nil {
		return nil, problem.AsError(err)
	}
	polling, err := r.t.hosts(ctx, firstPoll(known))
	if err != nil {
		return nil, problem.AsError(err)
	}
	all := []adroit.JobSummary{}
	hosts, err := each(ctx, r.t, polling, known)
	if err != nil {
		return nil, err
	}
	err = ofEach(ctx, r.t, hosts, func(c adroit.Client) ([]adroit.JobSummary, error) { return c.Jobs(ctx, o) },
		func(host string, list []adroit.JobSummary, away bool) {
			if away {
				list = known[host]
			}
			all = append(all, slices.DeleteFunc(list, func(j adroit.JobSummary) bool { return cmp.Or(owner[j.ID], host) != host })...)
		})
	if err != nil {
		return nil, err
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
	ref = r.whole(ctx, ref)
	if w, err := r.t.c.DescribeWorkflowExecution(ctx, ref, ""); err == nil && w.GetWorkflowExecutionInfo().GetCloseTime() != nil {
		j, _ := r.t.known(w.GetWorkflowExecutionInfo())
		return nil, problem.AsError(fmt.Errorf("%s: %w: %s", ref, jobs.ErrFinal, j.Status.Words()))
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
	ref = r.whole(ctx, ref)
	sent = &adroit.SignalSent{Job: &jobs.Job{ID: ref, Status: jobs.Interrupted}, Early: true}
	if d, err := r.absent(ctx, ref, err); err == nil {
		if sent, s.Name, err = s.To(d.Job); err != nil {
			return nil, problem.AsError(err)
		}
		if q := sent.Question; q != nil {
			s.Question = q.Path
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
	return sent, nil
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
		status := jobs.Status(keyword(info, AttributeStatus))
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

// stuckAfter is the number of attempts after which the task of a workflow counts as stuck, and failsAfter that of a
// step: half a minute, in which a host that died gets its lease back.
const stuckAfter, failsAfter = 3, 6

// stuck returns why the tasks of a job's workflow or its steps fail again and again, empty if they do not: a worker
// lacks a key, a payload or the code, or a host the workspace. Nothing is lost, and it goes on when one has it.
func (t *Cluster) stuck(ctx context.Context, d *workflowservice.DescribeWorkflowExecutionResponse) string {
	for _, a := range d.GetPendingActivities() {
		if f := a.GetLastFailure(); a.GetAttempt() >= failsAfter && f != nil && f.GetTimeoutFailureInfo() == nil {
			return "its host tries again and again, and fails: " + t.failed(f)
		}
	}
	if d.GetPendingWorkflowTask().GetAttempt() < stuckAfter {
		return t.unserved(ctx, d)
	}
	why := "why is not in its history"
	history, err := t.c.WorkflowService().GetWorkflowExecutionHistoryReverse(ctx, &workflowservice.GetWorkflowExecutionHistoryReverseRequest{Namespace: t.namespace, Execution: d.GetWorkflowExecutionInfo().GetExecution(), MaximumPageSize: 20})
	if err != nil {
		why = err.Error()
	}
	for _, ev := range history.GetHistory().GetEvents() {
		if f := ev.GetWorkflowTaskFailedEventAttributes().GetFailure(); f != nil {
			why = t.failed(f)
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
		var left time.Time // since when the host or Temporal is away
		passes := func(err error) bool {
			return o.Follow && absence(err) && (left.IsZero() || time.Since(left) < followPatience)
		}
		for {
			before, gone := o.After, false
			for ev, err := range r.Client.Events(ctx, ref, o) {
				if gone = passes(err); gone {
					break
				}
				if _, answered := r.answered.Load(ref); answered && errors.Is(err, errAway) {
					err = answeredAway(ref, err)
				}
				if o.After = max(o.After, ev.Seq); !yield(ev, err) || err != nil {
					return
				}
			}
			over := false
			switch {
			case gone:
			case o.After > before:
				left = time.Time{}
				continue
			case !o.Follow:
				return
			default:
				var err error
				if over, err = r.over(ctx, ref, o.After); err != nil && !passes(err) {
					yield(event.Event{}, err)
					return
				}
				gone = err != nil
			}
			switch {
			case over:
				return
			case !gone:
				left = time.Time{}
			case left.IsZero():
				left = time.Now()
			}
			select {
			case <-time.After(200 * time.Millisecond):
			case <-ctx.Done():
			}
		}
	}
}

// absence reports whether an error may pass: the host or Temporal did not answer.
func absence(err error) bool {
	return errors.Is(err, errAway) || errors.Is(err, errLate) || errors.As(err, new(*serviceerror.Unavailable)) || errors.As(err, new(*serviceerror.DeadlineExceeded))
}

// over reports whether no event comes after the last one of a job: it has ended, or stands still, and its host is not
// just being exchanged.
func (r *remote) over(ctx context.Context, ref string, last int64) (bool, error) {
	d, err := r.Job(ctx, ref)
	if err != nil || d.End != nil && d.End.Seq > last || d.Job.Status == jobs.Running || d.Job.Status == jobs.Queued {
		return false, err
	}
	w, err := r.t.c.DescribeWorkflowExecution(ctx, d.Job.ID, "")
	return err != nil || d.Job.Status != jobs.Interrupted || keyword(w.GetWorkflowExecutionInfo(), AttributeStatus) != string(jobs.Running), nil
}

// Retry implements [adroit.JobWriter]. On another host, the new job goes on from what Temporal has
// of the old one, because the host of that may never come back.
func (r *remote) Retry(ctx context.Context, ref string, o adroit.RetryOptions) (*adroit.Submitted, error) {
	if o.Host == "" {
		return r.Client.Retry(ctx, ref, o)
	}
	s, err := r.move(ctx, ref, o)
	if err != nil {
		return nil, problem.AsError(err)
	}
	return s, nil
}

// Each host numbers the events of all its jobs. A cursor is the last number of each that a reader has.
type cursor map[string]int64

// cursors are the places of the readers of this process, by the number of the event that each had last: an
// event of several hosts has a number of its own in each stream. It is safe for concurrent use.
type cursors struct {
	mu   sync.Mutex
	next int64
	at   map[int64]cursor
}

// mostCursors bounds the places that are kept. Who comes with an older one begins anew.
const mostCursors = 20_000

// keep numbers a place. The numbers of a process are above those of an earlier one.
func (c *cursors) keep(at cursor) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.at == nil {
		c.next, c.at = time.Now().UnixMicro(), map[int64]cursor{}
	}
	c.next++
	c.at[c.next] = maps.Clone(at)
	delete(c.at, c.next-mostCursors)
	return c.next
}

// find returns the place that has a number, empty if it is none of this process.
func (c *cursors) find(id int64) cursor {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at, ok := c.at[id]; ok {
		return maps.Clone(at)
	}
	return cursor{}
}

// AllEvents implements [adroit.JobReader]. The events of one host have the numbers of its store. Those of
// several hosts come in the order of each host, with numbers of this process: a reader goes on after one of
// them, and begins anew after one of an earlier process. The events of a host that is away come when it is
// back.
func (r *remote) AllEvents(ctx context.Context, o adroit.EventOptions) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		if o.Live {
			yield(event.Event{}, problem.Invalidf("follow the job itself", "pieces of answers are not among the events of all jobs"))
			return
		}
		hosts, err := r.t.everyHost(ctx)
		if err != nil {
			yield(event.Event{}, problem.AsError(err))
			return
		}
		ctx, stop := context.WithCancel(ctx)
		var readers sync.WaitGroup
		defer readers.Wait()
		defer stop()
		at, last := r.places.find(o.After), min(o.After, 0)
		if len(hosts) == 1 {
			at = cursor{hosts[0]: o.After}
		}
		type from struct {
			host string
			ev   event.Event
			err  error
		}
		in, over := make(chan from), make(chan struct{})
		begun := map[string]bool{}
		begin := func(hosts []string) {
			for _, host := range hosts {
				if begun[host] {
					continue
				}
				begun[host] = true
				own := adroit.EventOptions{After: at[host], Follow: o.Follow}
				if own.After == 0 {
					own.After = last
				}
				readers.Go(func() {
					for ev, err := range r.follow(ctx, host, own) {
						select {
						case in <- from{host, ev, err}:
						case <-ctx.Done():
							return
						}
					}
				})
			}
		}
		begin(hosts)
		if !o.Follow {
			go func() { readers.Wait(); close(over) }()
		}
		for {
			select {
			case f := <-in:
				if at[f.host] = f.ev.ID; f.err == nil && len(begun) > 1 {
					f.ev.ID = r.places.keep(at)
				}
				if !yield(f.ev, f.err) || f.err != nil {
					return
				}
			case <-over:
				return
			case <-time.After(newHostEvery):
				if hosts, err := r.t.everyHost(ctx); err == nil && o.Follow {
					begin(hosts)
				}
			case <-ctx.Done():
				yield(event.Event{}, problem.AsError(context.Cause(ctx)))
				return
			}
		}
	}
}

// newHostEvery is the interval at which a reader of all events looks for new and absent hosts.
const newHostEvery = 5 * time.Second

// follow reads the events of all jobs of a host, whose answers have a bounded size.
func (r *remote) follow(ctx context.Context, host string, o adroit.EventOptions) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		for {
			before, gone := o.After, false
			for ev, err := range r.t.on(host).AllEvents(ctx, o) {
				if gone = errors.Is(err, errAway); gone {
					break
				}
				if err == nil {
					o.After = ev.ID
				}
				if !yield(ev, err) || err != nil {
					return
				}
			}
			switch {
			case ctx.Err() != nil, !o.Follow && (gone || o.After == before):
				return
			case !gone:
				continue // it has waited for some
			}
			select {
			case <-time.After(newHostEvery):
			case <-ctx.Done():
				return
			}
		}
	}
}
