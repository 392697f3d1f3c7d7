package triggers

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/system/lock"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// Options configures an Engine. All but Redact and Home must be set.
type Options struct {
	Client   adroit.Client
	Data     string // the data directory, where it keeps its state
	Home     string // what ~/ stands for
	Triggers Triggers
	Notices  Notices
	Getenv   func(string) string
	Now      func() time.Time
	Redact   func(string) string              // takes secrets out of what is sent
	Log      func(format string, args ...any) // for the operator; safe for concurrent use
}

// An Engine heeds triggers and sends notices. It is safe for concurrent use.
type Engine struct {
	o     Options
	wake  chan struct{} // something waits to be submitted
	ended chan string   // ids of jobs that have ended

	mu       sync.Mutex
	s        *state // nil until Run has the lock
	watchers map[string]*watcher
	left     map[string]int // how often each active job of the server before this one was continued and has not run since
}

// A state is the engine's persistent state.
type state struct {
	Event    int64              `json:"event"` // the last one of all jobs that was looked at
	Triggers map[string]*record `json:"triggers"`
	Pending  []*firing          `json:"pending,omitempty"`
	Outboxes map[string]*outbox `json:"outboxes,omitempty"`
}

// A record is a trigger's history.
type record struct {
	Last   time.Time   `json:"last,omitzero"`  // the scheduled time up to which nothing is due
	Fired  time.Time   `json:"fired,omitzero"` // when it last fired
	Job    string      `json:"job,omitempty"`  // the last one that it has started
	Error  string      `json:"error,omitempty"`
	Seen   []string    `json:"seen,omitempty"`   // ids of firings, the oldest first
	Active []activeJob `json:"active,omitempty"` // that have not ended, as far as is known
}

// An activeJob is a job that a trigger has started.
type activeJob struct {
	ID    string `json:"id"`
	Depth int    `json:"depth,omitempty"`
}

// A firing is a request that has to become a job.
type firing struct {
	Trigger string         `json:"trigger"`
	Depth   int            `json:"depth,omitempty"`
	Job     string         `json:"job,omitempty"` // once it was submitted
	Tries   int            `json:"tries,omitempty"`
	Next    time.Time      `json:"next,omitzero"` // not before
	Request adroit.Request `json:"request"`
}

const (
	stateName = "triggers.json"
	lockName  = "triggers.lock"
	maxTries  = 8
	tick      = time.Second
	lookEach  = 5 * time.Second // at jobs that may have been interrupted, which is no event
)

// Reasons why nothing is started.
var (
	errFiltered  = errors.New("the payload does not have what the trigger wants")
	errRepeated  = errors.New("this was taken before; nothing is started")
	errInput     = errors.New("no request can be made of it")
	errFull      = errors.New("too many firings wait; try again later")
	errElsewhere = errors.New("triggers are not heeded here at the moment; try again later")
)

// New makes an engine of what [Check] and [CheckNotices] have found good.
func New(o Options) *Engine {
	if o.Redact == nil {
		o.Redact = func(s string) string { return s }
	}
	return &Engine{o: o, wake: make(chan struct{}, 1), ended: make(chan string, 64), watchers: map[string]*watcher{}}
}

// Run heeds the triggers until ctx ends, and waits for what it has begun. While another process
// of the data directory does so, it waits for that one to end.
func (e *Engine) Run(ctx context.Context) error {
	if err := rootfs.MkdirAll(e.o.Data); err != nil {
		return err
	}
	f, err := lock.Create(filepath.Join(e.o.Data, lockName))
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close(f) }() // the process ends
	for waits := false; ; waits = true {
		if err = lock.Try(f); !errors.Is(err, lock.ErrHeld) {
			break
		}
		if !waits {
			e.o.Log("another server of this data directory heeds the triggers; this one waits for it to end")
		}
		if !sleep(ctx, tick) {
			return nil
		}
	}
	if err != nil {
		return err
	}
	s, err := readState(e.o.Data)
	if err != nil {
		return err
	}
	if err := e.begin(ctx, s); err != nil {
		return err
	}
	var work sync.WaitGroup
	for _, do := range []func(context.Context){e.clock, e.watch, e.listen, e.submitAll} {
		work.Go(func() { do(ctx) })
	}
	for name := range e.o.Notices {
		work.Go(func() { e.deliver(ctx, name) })
	}
	work.Wait()
	return nil
}

// readState reads the state of a data directory, empty if there is none yet.
func readState(data string) (*state, error) {
	s := &state{}
	b, err := os.ReadFile(filepath.Join(data, stateName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err == nil {
		dec := json.NewDecoder(bytes.NewReader(b))
		dec.DisallowUnknownFields() // of a later program: it may matter
		if err := dec.Decode(s); err != nil {
			return nil, fmt.Errorf("%s cannot be read, so no trigger is heeded: %w", filepath.Join(data, stateName), err)
		}
	}
	if s.Triggers == nil {
		s.Triggers = map[string]*record{}
	}
	if s.Outboxes == nil {
		s.Outboxes = map[string]*outbox{}
	}
	return s, nil
}

// begin takes up what a process before this one has left.
func (e *Engine) begin(ctx context.Context, s *state) error {
	if s.Event == 0 { // what happened before there were triggers is no news
		for ev, err := range e.o.Client.AllEvents(ctx, adroit.EventOptions{After: -1}) {
			if err != nil {
				return err
			}
			s.Event = ev.ID
		}
	}
	e.mu.Lock()
	e.s = s
	for name, t := range e.o.Triggers {
		r := e.record(name)
		if t.Cron != "" && r.Last.IsZero() {
			r.Last = e.o.Now()
		}
	}
	err := e.save()
	e.mu.Unlock()
	e.left = map[string]int{}
	for name := range e.o.Triggers {
		for _, a := range e.active(name) {
			e.left[a.ID] = 0
		}
	}
	return err
}

// goOn continues a job that was interrupted because the server before this one stopped. It reports whether
// the job counts as active: between the start and the claim it is still seen as interrupted, and the
// process that had it may be seen as alive for a moment, so both are tried again.
func (e *Engine) goOn(ctx context.Context, name, id string) bool {
	tries, left := e.left[id]
	if !left || tries >= maxTries {
		delete(e.left, id)
		return false
	}
	e.left[id]++
	_, err := e.o.Client.Start(ctx, id, adroit.StartOptions{})
	switch {
	case err == nil:
		e.o.Log("trigger %s: %s goes on", name, id)
	case errors.Is(err, jobs.ErrHeld): // it runs, or does in a moment
	case slices.Contains(refusals, problem.AsError(err).Kind):
		e.o.Log("trigger %s: %s cannot go on: %v", name, id, err)
		delete(e.left, id)
		return false
	default:
		e.o.Log("trigger %s: %s does not go on yet: %v", name, id, err)
	}
	return true
}

// refusals are the kinds of errors that another try does not mend.
var refusals = []problem.Kind{problem.Invalid, problem.NotFound, problem.Forbidden}

// record returns a trigger's record. The caller has the lock.
func (e *Engine) record(name string) *record {
	r := e.s.Triggers[name]
	if r == nil {
		r = &record{}
		e.s.Triggers[name] = r
	}
	return r
}

// save writes the state. The caller has the lock.
func (e *Engine) save() error { return rootfs.WriteJSON(filepath.Join(e.o.Data, stateName), e.s) }

func (e *Engine) active(name string) []activeJob {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.record(name).Active)
}

// keyOf is the key of a firing's job. It has the depth, by which a job that follows from it is bounded.
func keyOf(name string, depth int, id string) string {
	return fmt.Sprintf("trigger/%s/%d/%s", name, depth, id)
}

// depthOf returns the number of jobs that led to a job, by its key: 0 if no trigger has started it.
func depthOf(key string) int {
	part := strings.SplitN(key, "/", 4)
	if len(part) != 4 || part[0] != "trigger" {
		return 0
	}
	n, _ := strconv.Atoi(part[2]) // no number: not one of ours
	return n + 1
}

// fire records that a trigger has fired. The id names what has happened: the second time it is errRepeated.
func (e *Engine) fire(name, id string, payload any, depth int) error {
	t := e.o.Triggers[name]
	if !t.matches(payload) {
		return errFiltered
	}
	r, err := t.Request(name, e.o.Home, payload)
	if err != nil {
		e.note(name, err)
		return fmt.Errorf("%w: %w", errInput, err)
	}
	r.Key = keyOf(name, depth, id)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.s == nil {
		return errElsewhere
	}
	rec := e.record(name)
	if slices.Contains(rec.Seen, id) {
		return errRepeated
	}
	if e.waiting(name) >= maxPending {
		return errFull
	}
	before := *rec
	rec.Seen, rec.Fired, rec.Error = append(slices.Clone(rec.Seen), id), e.o.Now(), ""
	rec.Seen = rec.Seen[max(0, len(rec.Seen)-maxSeen):]
	e.s.Pending = append(e.s.Pending, &firing{Trigger: name, Depth: depth, Request: r})
	if err := e.save(); err != nil {
		*rec, e.s.Pending = before, e.s.Pending[:len(e.s.Pending)-1]
		return err
	}
	e.poke()
	return nil
}

// waiting returns the number of a trigger's firings that are no jobs yet. The caller has the lock.
func (e *Engine) waiting(name string) (n int) {
	for _, f := range e.s.Pending {
		if f.Trigger == name {
			n++
		}
	}
	return n
}

// poke wakes the engine.
func (e *Engine) poke() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// note records why a trigger did not start a job.
func (e *Engine) note(name string, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.s == nil {
		return
	}
	e.record(name).Error = e.o.Redact(err.Error())
	if err := e.save(); err != nil {
		e.o.Log("keeping the state of triggers: %v", err)
	}
}

// submitAll makes jobs of firings until ctx ends.
func (e *Engine) submitAll(ctx context.Context) {
	var looked time.Time
	for {
		if e.o.Now().Sub(looked) >= lookEach || e.o.Now().Before(looked) {
			e.look(ctx)
			looked = e.o.Now()
		}
		for _, f := range e.ready() {
			e.submit(ctx, f)
		}
		select {
		case <-ctx.Done():
			return
		case <-e.wake:
		case id := <-e.ended:
			e.over(ctx, id)
		case <-time.After(tick):
		}
	}
}

// ready are the firings whose turn it is.
func (e *Engine) ready() (out []*firing) {
	e.mu.Lock()
	defer e.mu.Unlock()
	busy := map[string]bool{}
	for _, f := range e.s.Pending {
		t, known := e.o.Triggers[f.Trigger]
		switch {
		case known && !t.Overlap && (busy[f.Trigger] || slices.ContainsFunc(e.record(f.Trigger).Active, func(a activeJob) bool { return a.ID != f.Job })):
		case waits(f.Next, e.o.Now()):
		default:
			out = append(out, f)
		}
		busy[f.Trigger] = true
	}
	return out
}

// submit makes a job of a firing.
func (e *Engine) submit(ctx context.Context, f *firing) {
	s, err := e.o.Client.Submit(ctx, f.Request)
	if err == nil {
		err = e.started(ctx, f, s)
	}
	if errors.Is(err, jobs.ErrKey) {
		err = nil // the job is there
	}
	if ctx.Err() != nil {
		return // the next process goes on with it
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if err != nil {
		f.Tries++
		f.Next = retryAt(e.o.Now(), f.Tries)
		e.record(f.Trigger).Error = e.o.Redact(err.Error())
		e.o.Log("trigger %s: %v", f.Trigger, err)
		kind := problem.AsError(err).Kind
		if f.Tries < maxTries && !slices.Contains(refusals, kind) {
			if err := e.save(); err != nil {
				e.o.Log("keeping the state of triggers: %v", err)
			}
			return
		}
	}
	e.s.Pending = slices.DeleteFunc(e.s.Pending, func(o *firing) bool { return o == f })
	if err := e.save(); err != nil {
		e.o.Log("keeping the state of triggers: %v", err)
	}
}

// started starts the job of a firing, unless an earlier process has done so.
func (e *Engine) started(ctx context.Context, f *firing, s *adroit.Submitted) error {
	e.mu.Lock()
	r := e.record(f.Trigger)
	r.Job, f.Job = s.Job.ID, s.Job.ID
	if !s.Job.Status.Final() && !slices.ContainsFunc(r.Active, func(a activeJob) bool { return a.ID == s.Job.ID }) {
		r.Active = append(r.Active, activeJob{s.Job.ID, f.Depth})
	}
	err := e.save()
	e.mu.Unlock()
	if err != nil || s.Job.Status != jobs.Queued || s.Job.Lease.Owner != "" {
		return err
	}
	if _, err := e.o.Client.Start(ctx, s.Job.ID, adroit.StartOptions{}); err != nil && !errors.Is(err, jobs.ErrHeld) {
		return err
	}
	e.o.Log("trigger %s: %s runs %s", f.Trigger, s.Job.ID, f.Request.Target)
	return nil
}

// look notices active jobs that do not run any more, and continues those that the server before this one
// has left. A job whose store or host does not answer is as it was. On Temporal an interrupted job goes on
// by itself when its host is back.
func (e *Engine) look(ctx context.Context) {
	for _, name := range slices.Sorted(maps.Keys(e.o.Triggers)) {
		for _, a := range e.active(name) {
			d, err := e.o.Client.Job(ctx, a.ID)
			if ctx.Err() != nil {
				return
			}
			switch {
			case err != nil:
				if problem.AsError(err).Kind == problem.NotFound {
					e.over(ctx, a.ID)
				}
			case d.Job.Status.Final() || d.Job.Status == jobs.Blocked:
				e.over(ctx, a.ID)
			case d.Job.Status != jobs.Interrupted:
				delete(e.left, a.ID)
			case d.Config.Engine == "" && !e.goOn(ctx, name, a.ID):
				if ctx.Err() != nil {
					return
				}
				e.over(ctx, a.ID)
			}
		}
	}
}

// over takes a job that has ended for no longer active. What it has written is no news for triggers.
func (e *Engine) over(ctx context.Context, id string) {
	e.mu.Lock()
	found := false
	for _, r := range e.s.Triggers {
		before := len(r.Active)
		r.Active = slices.DeleteFunc(r.Active, func(a activeJob) bool { return a.ID == id })
		found = found || len(r.Active) < before
	}
	if found {
		e.rebase(ctx, id)
		if err := e.save(); err != nil {
			e.o.Log("keeping the state of triggers: %v", err)
		}
	}
	e.mu.Unlock()
	if found {
		e.poke()
	}
}

// listen follows the events of all jobs until ctx ends.
func (e *Engine) listen(ctx context.Context) {
	for ctx.Err() == nil {
		e.mu.Lock()
		after := e.s.Event
		e.mu.Unlock()
		for ev, err := range e.o.Client.AllEvents(ctx, adroit.EventOptions{After: after, Follow: true}) {
			if ctx.Err() != nil {
				return
			}
			if err != nil {
				e.o.Log("following the jobs: %v", err)
				break
			}
			e.see(ctx, ev)
		}
		if !sleep(ctx, tick) {
			return
		}
	}
}

// eventsKept is after how many events that mean nothing their number is kept.
const eventsKept = 1000

// see takes notice of an event.
func (e *Engine) see(ctx context.Context, ev event.Event) {
	finished, waits := ev.Kind == event.JobFinished, ev.Kind == event.JobWaiting
	var j *jobs.Job
	if finished || waits {
		d, err := e.o.Client.Job(ctx, ev.Job)
		if ctx.Err() != nil {
			return
		}
		if err == nil { // else it was removed
			j = d.Job
		}
	}
	if finished && j != nil {
		e.follow(ev, j)
	}
	e.mu.Lock()
	was := e.s.Event
	e.s.Event = ev.ID
	added := j != nil && e.notify(ev, j)
	if added || finished || waits || ev.ID/eventsKept != was/eventsKept {
		if err := e.save(); err != nil {
			e.o.Log("keeping the state of triggers: %v", err)
		}
	}
	e.mu.Unlock()
	if finished {
		select {
		case e.ended <- ev.Job:
		case <-ctx.Done():
		}
	}
}

// finalOf returns a run's end, by its last event; the job's status if that is not there.
func finalOf(ev event.Event, j *jobs.Job) (status jobs.Status, reason string) {
	var f struct {
		Status jobs.Status
		Reason string
	}
	if err := json.Unmarshal(ev.Data, &f); err != nil || !f.Status.Known() {
		return j.Status, j.Reason
	}
	return f.Status, f.Reason
}

// follow fires the triggers that wait for the end of a job such as j.
func (e *Engine) follow(ev event.Event, j *jobs.Job) {
	status, reason := finalOf(ev, j)
	depth := depthOf(j.Key)
	for _, name := range slices.Sorted(maps.Keys(e.o.Triggers)) {
		w := e.o.Triggers[name].Job
		switch {
		case !w.set(), w.Agent != "" && w.Agent != j.Agent, w.Pipeline != "" && w.Pipeline != pipelineOf(j):
		case len(w.Status) > 0 && !slices.Contains(w.Status, status):
		case depth >= cmp.Or(w.Depth, defaultDepth):
			e.o.Log("trigger %s: %s ends a chain of %d jobs, which is as long as it may be", name, j.ID, depth)
		default:
			err := e.fire(name, j.ID+"-"+strconv.FormatInt(ev.ID, 10), map[string]any{
				"job": j.ID, "status": string(status), "reason": reason, "agent": j.Agent, "title": j.Title, "dir": j.Dir, "key": j.Key,
			}, depth)
			if err != nil && !errors.Is(err, errRepeated) && !errors.Is(err, errFiltered) {
				e.note(name, err)
				e.o.Log("trigger %s: %v", name, err)
			}
		}
	}
}

// pipelineOf is the pipeline that a job runs, "" if it runs none.
func pipelineOf(j *jobs.Job) string {
	var in struct{ Pipeline string }
	if json.Unmarshal(j.Input, &in) != nil {
		return ""
	}
	return in.Pipeline
}

// sleep waits, and reports false if ctx ends meanwhile.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
