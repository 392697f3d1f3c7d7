package jobs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/flow"
)

// Memory is a Store that lasts as long as the process: for Go programs that
// want no durability, and for tests. The zero value is ready; it is safe for
// concurrent use.
type Memory struct {
	mu   sync.Mutex
	jobs map[string]*memoryJob
	n    int
	last int64         // the number of the last event
	all  chan struct{} // closed and replaced at every change; nil if nobody follows all jobs
}

// A memoryJob is a job with all that belongs to it.
type memoryJob struct {
	Job
	of        *Memory
	n         int // order of arrival
	journal   flow.Memory
	questions map[string]Question // by path, also answered ones
	events    []event.Event
	queued    []flow.Signal // as in journal, to know what is pending
	changed   chan struct{} // closed and replaced at every change
}

func (h *memoryJob) ring() {
	close(h.changed)
	h.changed = make(chan struct{})
	if h.of.all != nil {
		close(h.of.all)
		h.of.all = nil
	}
}

// dead reports that nobody holds the job.
func (h *memoryJob) dead() bool { return h.Lease.Owner == "" || !time.Now().Before(h.Lease.Expires) }

// job gives the job as the world should see it.
func (h *memoryJob) job() *Job {
	j := h.Job
	if (j.Status == Running || j.Status == Queued && j.Lease.Owner != "") && h.dead() {
		j.Status, j.Reason = Interrupted, cmp.Or(j.Reason, "the process died unexpectedly")
	}
	if h.dead() {
		j.Lease = Lease{}
	}
	return &j
}

// pending are the questions that no queued signal will answer.
func (h *memoryJob) pending() []Question {
	queued := slices.Clone(h.queued)
	var out []Question
	for _, rec := range h.journal.Records(h.ID) {
		q, ok := h.questions[rec.Path]
		if !ok || rec.Done || rec.Kind != flow.KindAwait {
			continue
		}
		i := slices.IndexFunc(queued, func(s flow.Signal) bool { return slices.Contains(q.Signals, s.Name) })
		if i >= 0 {
			queued = slices.Delete(queued, i, i+1)
			continue
		}
		out = append(out, q)
	}
	return out
}

// find must be called with m.mu held.
func (m *Memory) find(ctx context.Context, id string) (*memoryJob, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	h, ok := m.jobs[id]
	if !ok {
		return nil, fmt.Errorf("%s: %w", id, ErrNotExist)
	}
	return h, nil
}

// fenced finds the job for the holder of token.
func (m *Memory) fenced(ctx context.Context, id string, token int64) (*memoryJob, error) {
	h, err := m.find(ctx, id)
	if err == nil && (h.Lease.Token != token || h.Lease.Owner == "") {
		err = fmt.Errorf("%s: %w", id, ErrLeaseLost)
	}
	return h, err
}

// Add implements Store.
func (m *Memory) Add(ctx context.Context, j *Job) (*Job, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	for _, h := range m.jobs {
		if j.Key != "" && h.Key == j.Key && h.Scope == j.Scope {
			return h.job(), nil
		}
	}
	if m.jobs[j.ID] != nil {
		return nil, fmt.Errorf("job %s exists already", j.ID)
	}
	if m.jobs == nil {
		m.jobs = map[string]*memoryJob{}
	}
	m.n++
	h := &memoryJob{Job: *j, of: m, n: m.n, changed: make(chan struct{}), questions: map[string]Question{}}
	h.Lease = Lease{}
	h.Input, h.Host = slices.Clone(j.Input), slices.Clone(j.Host)
	h.Status = cmp.Or(h.Status, Queued)
	if h.Created.IsZero() {
		h.Created = time.Now()
	}
	if h.Updated.IsZero() {
		h.Updated = h.Created
	}
	m.jobs[j.ID] = h
	return h.job(), nil
}

// List implements Store.
func (m *Memory) List(ctx context.Context, q Query) ([]*Job, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	var found []*memoryJob
	for _, h := range m.jobs {
		if (q.ID == "" || q.ID == h.ID) && (q.Agent == "" || q.Agent == h.Agent) && (q.Workflow == "" || q.Workflow == h.Workflow) && strings.HasPrefix(h.ID, q.Prefix) &&
			(len(q.Status) == 0 || slices.Contains(q.Status, h.job().Status)) {
			found = append(found, h)
		}
	}
	slices.SortFunc(found, func(a, b *memoryJob) int { return cmp.Or(b.Created.Compare(a.Created), b.n-a.n) })
	if q.Limit > 0 && len(found) > q.Limit {
		found = found[:q.Limit]
	}
	var out []*Job
	for _, h := range found {
		j := h.job()
		if q.Questions {
			j.Questions, j.Signals = h.pending(), slices.Clone(h.queued)
		}
		out = append(out, j)
	}
	return out, nil
}

// Remove implements Store.
func (m *Memory) Remove(ctx context.Context, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	h, err := m.find(ctx, id)
	if err != nil {
		return err
	}
	if !h.dead() {
		return fmt.Errorf("%s: %w; cancel it first", id, ErrRunning)
	}
	delete(m.jobs, id)
	h.ring()
	return nil
}

func (h *memoryJob) finish(status Status, reason string, output json.RawMessage, last *event.Event) {
	h.Status, h.Reason, h.Output, h.Updated, h.Lease.Owner = status, reason, slices.Clone(output), time.Now(), ""
	h.Finished = time.Time{}
	if status.Final() {
		h.Finished = h.Updated
	}
	h.log(last)
	h.ring()
}

// Reopen implements Store.
func (m *Memory) Reopen(ctx context.Context, id string, o flow.Reopener) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	h, err := m.find(ctx, id)
	if err != nil {
		return err
	}
	if h.Status == Running && !h.dead() {
		return fmt.Errorf("%s: %w", id, ErrRunning)
	}
	if reopening := h.Status.Reopening(o); reopening != nil {
		plan, err := reopening(h.journal.History(id))
		if err != nil {
			return fmt.Errorf("%s: %w", id, err)
		}
		h.journal.Reopen(id, plan)
	}
	if o.Send != nil {
		sig := *o.Send
		h.log(sig.Log)
		sig.Log = nil
		h.queued = append(h.queued, sig)
		if err := h.journal.Send(ctx, id, sig); err != nil {
			return err
		}
	}
	h.Status, h.Reason, h.Cancel, h.Crashes, h.Finished, h.Lease.Owner = Queued, "", false, 0, time.Time{}, ""
	h.Updated = time.Now()
	h.ring()
	return nil
}

// Cancel implements Store.
func (m *Memory) Cancel(ctx context.Context, id string, log *event.Event) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	h, err := m.find(ctx, id)
	if err != nil {
		return err
	}
	if h.Status.Final() {
		return fmt.Errorf("%s: %w (%s)", id, ErrFinal, h.Status)
	}
	h.Cancel = true
	h.log(log)
	if !h.dead() {
		h.ring()
		return nil
	}
	// No runner is left to record the end, and a former one must not come back.
	h.Lease.Token++
	const reason = "cancelled while nobody ran it"
	data, err := json.Marshal(Final{Status: Cancelled, Stopped: string(Cancelled), Reason: reason})
	if err != nil {
		return err
	}
	h.finish(Cancelled, reason, h.Output, &event.Event{Time: time.Now(), Kind: event.JobFinished, Data: data})
	return nil
}

func (h *memoryJob) log(about *event.Event) {
	if about == nil {
		return
	}
	ev := *about
	h.of.last++
	ev.ID, ev.Job, ev.Seq = h.of.last, h.ID, int64(len(h.events))+1
	h.events = append(h.events, ev)
}

// Events implements Store.
func (m *Memory) Events(ctx context.Context, job string, after int64, follow bool) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		for {
			m.mu.Lock()
			h, err := m.find(ctx, job)
			if err != nil {
				m.mu.Unlock()
				yield(event.Event{}, err)
				return
			}
			evs := h.events[min(max(0, after), int64(len(h.events))):]
			status, changed, left := h.job().Status, h.changed, time.Until(h.Lease.Expires)
			m.mu.Unlock()
			for _, ev := range evs {
				ev.ID = 0
				if !yield(ev, nil) {
					return
				}
				after = ev.Seq
			}
			if len(evs) > 0 {
				continue
			}
			if !follow || status != Running && status != Queued {
				return
			}
			var over <-chan time.Time // of the lease: nobody rings then
			if status == Running {
				over = time.After(left)
			}
			select {
			case <-changed:
			case <-over:
			case <-ctx.Done():
				yield(event.Event{}, context.Cause(ctx))
				return
			}
		}
	}
}

// AllEvents implements Store.
func (m *Memory) AllEvents(ctx context.Context, after int64, follow bool) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		for {
			m.mu.Lock()
			var evs []event.Event
			for _, h := range m.jobs {
				i, _ := slices.BinarySearchFunc(h.events, max(0, after)+1, func(ev event.Event, n int64) int { return cmp.Compare(ev.ID, n) })
				evs = append(evs, h.events[i:]...)
			}
			if m.all == nil {
				m.all = make(chan struct{})
			}
			changed := m.all
			m.mu.Unlock()
			slices.SortFunc(evs, func(a, b event.Event) int { return cmp.Compare(a.ID, b.ID) })
			if after < 0 {
				evs = evs[max(0, int64(len(evs))+after):]
				after = 0
			}
			for _, ev := range evs {
				if !yield(ev, nil) {
					return
				}
				after = ev.ID
			}
			if len(evs) > 0 {
				continue
			}
			if !follow {
				return
			}
			select {
			case <-changed:
			case <-ctx.Done():
				yield(event.Event{}, context.Cause(ctx))
				return
			}
		}
	}
}

// Send implements Store.
func (m *Memory) Send(ctx context.Context, job string, sig flow.Signal) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	h, err := m.find(ctx, job)
	if err != nil {
		return err
	}
	if h.Status.Final() {
		return fmt.Errorf("%s: %w (%s)", job, ErrFinal, h.Status)
	}
	if sig.Question != "" && !slices.ContainsFunc(h.pending(), func(q Question) bool { return q.Path == sig.Question }) {
		return fmt.Errorf("%s: %w", job, ErrAnswered)
	}
	h.log(sig.Log)
	sig.Question, sig.Log = "", nil
	if sig.Sent.IsZero() {
		sig.Sent = time.Now()
	}
	h.queued = append(h.queued, sig)
	h.ring()
	return h.journal.Send(ctx, job, sig)
}

// Inputs implements Store.
func (m *Memory) Inputs(ctx context.Context, job string) ([]json.RawMessage, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	h, err := m.find(ctx, job)
	if err != nil {
		return nil, err
	}
	return h.journal.Inputs(), nil
}

// crashLimit is the number of times that a job may lose its runner before it is blocked.
const crashLimit = 3

// Claim implements Store.
func (m *Memory) Claim(ctx context.Context, id, owner string, ttl time.Duration) (*Job, Journal, error) {
	return m.claim(ctx, id, owner, ttl, Running)
}

// Enqueue implements Store.
func (m *Memory) Enqueue(ctx context.Context, id, owner string, ttl time.Duration) (*Job, Journal, error) {
	return m.claim(ctx, id, owner, ttl, Queued)
}

func (m *Memory) claim(ctx context.Context, id, owner string, ttl time.Duration, status Status) (*Job, Journal, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	h, err := m.find(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	switch {
	case owner == "":
		return nil, nil, fmt.Errorf("%s: claim: an owner is needed", id)
	case h.Status.Final():
		return nil, nil, fmt.Errorf("%s: %w (%s)", id, ErrFinal, h.Status)
	case h.Status == Blocked:
		return nil, nil, fmt.Errorf("%s: %w: %s", id, ErrBlocked, h.Reason)
	case !h.dead():
		return nil, nil, fmt.Errorf("%s: %w (%s)", id, ErrHeld, h.Lease.Owner)
	}
	defer h.ring()
	now := time.Now()
	h.Updated = now
	h.Lease.Token++
	if h.Status == Running {
		h.Crashes++
	}
	if h.Crashes >= crashLimit {
		h.Status, h.Lease.Owner = Blocked, ""
		h.Reason = fmt.Sprintf("its runner died %d times; look at its last events, then resume it", h.Crashes)
		return nil, nil, fmt.Errorf("%s: %w: %s", id, ErrBlocked, h.Reason)
	}
	h.Status, h.Reason = status, ""
	if h.Started.IsZero() && status == Running {
		h.Started = now
	}
	h.Lease.Owner, h.Lease.Expires = owner, now.Add(ttl)
	j := h.Job
	return &j, &memoryJournal{m, id, j.Lease.Token}, nil
}

// A memoryJournal is the journal of one job as the holder of one lease sees
// it.
type memoryJournal struct {
	m     *Memory
	job   string
	token int64
}

// with runs f while the lease is certainly held.
func (j *memoryJournal) with(ctx context.Context, job string, f func(h *memoryJob) error) error {
	if job != j.job {
		return fmt.Errorf("the journal of job %s was asked about job %s", j.job, job)
	}
	j.m.mu.Lock()
	defer j.m.mu.Unlock()
	h, err := j.m.fenced(ctx, job, j.token)
	if err != nil {
		return err
	}
	return f(h)
}

// Begin implements flow.Journal.
func (j *memoryJournal) Begin(ctx context.Context, s flow.Step, deadline time.Time) (rec *flow.Record, err error) {
	err = j.with(ctx, s.Job, func(h *memoryJob) (err error) {
		if rec, err = h.journal.Begin(ctx, s, deadline); err != nil || rec != nil || s.Kind != flow.KindAwait || !s.Keep {
			return err
		}
		var w flow.Wait
		if err := json.Unmarshal(s.Input, &w); err != nil {
			return fmt.Errorf("step %s: decoding await: %w", s.Path, err)
		}
		h.questions[s.Path] = Ask(s.Path, w, time.Now())
		return nil
	})
	return rec, err
}

// Finish implements flow.Journal.
func (j *memoryJournal) Finish(ctx context.Context, rec *flow.Record) error {
	return j.with(ctx, rec.Job, func(h *memoryJob) error {
		if rec.Failure == nil {
			h.Crashes = 0 // only those of a run that got nowhere count
		}
		return h.journal.Finish(ctx, rec)
	})
}

// Receive implements flow.Journal.
func (j *memoryJournal) Receive(ctx context.Context, s flow.Step, names []string) (rec *flow.Record, err error) {
	err = j.with(ctx, s.Job, func(h *memoryJob) (err error) {
		rec, err = h.journal.Receive(ctx, s, names)
		if i := slices.IndexFunc(h.queued, func(s flow.Signal) bool { return slices.Contains(names, s.Name) }); (rec != nil || errors.As(err, new(*flow.SignalError))) && i >= 0 {
			h.queued = slices.Delete(h.queued, i, i+1)
		}
		return err
	})
	return rec, err
}

// History implements Journal.
func (j *memoryJournal) History(ctx context.Context) (own flow.History, err error) {
	err = j.with(ctx, j.job, func(h *memoryJob) error {
		own = h.journal.History(j.job)
		own.Steps = slices.DeleteFunc(own.Steps, func(rec flow.Record) bool { return !flow.EngineOwn(rec.Kind) })
		return nil
	})
	return own, err
}

// Save implements flow.Journal.
func (j *memoryJournal) Save(ctx context.Context, job, scope string, st flow.State) error {
	return j.with(ctx, job, func(h *memoryJob) error { h.Crashes = 0; return h.journal.Save(ctx, job, scope, st) })
}

// Load implements flow.Journal.
func (j *memoryJournal) Load(ctx context.Context, job, scope string) (st *flow.State, err error) {
	err = j.with(ctx, job, func(h *memoryJob) (err error) { st, err = h.journal.Load(ctx, job, scope); return err })
	return st, err
}

// Blob implements flow.Blobs.
func (j *memoryJournal) Blob(ctx context.Context, digest string) (b json.RawMessage, err error) {
	err = j.with(ctx, j.job, func(h *memoryJob) (err error) { b, err = h.journal.Blob(ctx, digest); return err })
	return b, err
}

// Append implements Journal.
func (j *memoryJournal) Append(ctx context.Context, evs ...event.Event) error {
	return j.with(ctx, j.job, func(h *memoryJob) error {
		for _, ev := range evs {
			if ev.Kind != event.Delta {
				h.log(&ev)
				h.ring()
			}
		}
		return nil
	})
}

// Sync implements Journal.
func (j *memoryJournal) Sync(ctx context.Context) error {
	return j.with(ctx, j.job, func(*memoryJob) error { return nil })
}

// Heartbeat implements Journal.
func (j *memoryJournal) Heartbeat(ctx context.Context, ttl time.Duration) (cancel bool, err error) {
	err = j.with(ctx, j.job, func(h *memoryJob) error {
		h.Lease.Expires, cancel = time.Now().Add(ttl), h.Job.Cancel
		return nil
	})
	return cancel, err
}

// Kinds implements Journal.
func (j *memoryJournal) Kinds(ctx context.Context) (kinds map[string]string, err error) {
	err = j.with(ctx, j.job, func(h *memoryJob) error {
		kinds = map[string]string{}
		for _, rec := range h.journal.Records(h.ID) {
			kinds[rec.Kind] = rec.Path
		}
		return nil
	})
	return kinds, err
}

// Start implements Journal.
func (j *memoryJournal) Start(ctx context.Context, atOnce int) (position int, err error) {
	err = j.with(ctx, j.job, func(h *memoryJob) error {
		running, before := 0, 0
		for _, o := range j.m.jobs {
			switch {
			case o == h || o.dead():
			case o.Status == Running:
				running++
			case o.Status == Queued && o.n < h.n:
				before++
			}
		}
		if running+before >= atOnce {
			position = before + 1
			return nil
		}
		h.Status, h.Updated = Running, time.Now()
		if h.Started.IsZero() {
			h.Started = h.Updated
		}
		h.ring()
		return nil
	})
	return position, err
}

// FinishJob implements Journal.
func (j *memoryJournal) FinishJob(ctx context.Context, end *Job, last *event.Event) error {
	if end.Status == Running || end.Status == "" {
		return fmt.Errorf("%s: a job is finished with the status it ended with", j.job)
	}
	return j.with(ctx, j.job, func(h *memoryJob) error {
		if h.Cancel && !end.Status.Final() {
			return fmt.Errorf("%s: %w: it was cancelled", j.job, ErrFinal)
		}
		h.finish(end.Status, end.Reason, end.Output, last)
		return nil
	})
}
