package jobs

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/adroit-run/adroit/internal/system/exhaustion"
	"github.com/adroit-run/adroit/internal/system/lock"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/flow"
)

// A Manager creates, runs, resumes and cancels the jobs of a store. Store,
// Workflows and Mux must be set. It is safe for concurrent use; a program
// needs one.
//
//	m := &jobs.Manager{Store: store, Workflows: []flow.Workflow{agents.Workflow}, Mux: mux}
//	j, err := m.Submit(ctx, &jobs.Job{Workflow: "agent", Input: input})
//	j, err = m.Run(ctx, j.ID, jobs.RunOptions{})
type Manager struct {
	Store     Store
	Workflows []flow.Workflow
	// Mux returns the handlers of a job's steps, and a function that releases them when
	// the run has ended, which may be nil. blobs is the job's store.
	Mux func(ctx context.Context, j *Job, blobs flow.Blobs) (mux flow.Mux, close func(), err error)

	// Lock takes, before a job is claimed, what only one process may have of
	// it, such as its files; release gives that back. Its error refuses the
	// claim. clean reports whether the process that had it before released it:
	// a job that it could not finish then, on a full disk, did not crash it. May
	// be nil.
	Lock func(j *Job) (release func(), clean bool, err error)

	// Clean removes data from events that must not be kept or shown. It is called once
	// for each event except deltas, from several goroutines. Nil leaves events unchanged.
	Clean func(event.Event) event.Event

	Owner string           // of the leases; empty names this process
	TTL   time.Duration    // of a lease; zero means 15 seconds
	Now   func() time.Time // zero means time.Now

	running atomic.Int64 // runs of this manager
}

// RunOptions configure one run of a job. The zero value is good.
type RunOptions struct {
	// Park ends the run with status waiting when a person must answer, instead of
	// waiting in this process, unless the wait is for 50 ms at most.
	Park bool
	// AtOnce bounds how many jobs of the store run at once, in all processes: until
	// there is a place the job is queued, behind those that were submitted before
	// it. 0 is no bound; the job takes a place of others all the same.
	AtOnce int
	// Emit sees every event as it happens, also deltas, which are not kept.
	// Its events have no number: see Store.Events for those. May be nil.
	Emit event.Sink
	// Hook is passed to the engine, for tests that kill.
	Hook func(point string, s flow.Step)
	// Reopen decides what of a job that ended is tried again when it is resumed;
	// Reopened is said of it in the job's events.
	Reopen   flow.Reopener
	Reopened string

	reopened bool
	resumes  bool // reopen it first, by Resume
}

const (
	defaultTTL = 15 * time.Second
	// pollCancel bounds the time for which a cancel goes unnoticed. With many runs at
	// once it is pollPerRun for each, so that together they look 200 times a second.
	pollCancel = 200 * time.Millisecond
	pollPerRun = 5 * time.Millisecond
	// pollEnd is the interval at which waiters look at a job.
	pollEnd = 50 * time.Millisecond
	// confirmCancel bounds the time for which Cancel waits for the runner.
	confirmCancel = 10 * time.Second
)

func (m *Manager) owner() string {
	if m.Owner != "" {
		return m.Owner
	}
	return lock.Name()
}

func (m *Manager) ttl() time.Duration {
	if m.TTL > 0 {
		return m.TTL
	}
	return defaultTTL
}

func (m *Manager) now() time.Time {
	if m.Now != nil {
		return m.Now()
	}
	return time.Now()
}

func (m *Manager) workflow(name string) (flow.Workflow, bool) {
	for _, wf := range m.Workflows {
		if wf.Name == name {
			return wf, true
		}
	}
	return flow.Workflow{}, false
}

// Submit adds a job and returns it as stored. It fills id, times, status,
// title and agent as far as they are empty. If j.Key is set and a job of
// j.Scope has that key already, that job is returned instead, with ErrKey if it was
// asked for something else.
func (m *Manager) Submit(ctx context.Context, j *Job) (*Job, error) {
	if _, ok := m.workflow(j.Workflow); !ok {
		return nil, fmt.Errorf("submit: there is no workflow %q", j.Workflow)
	}
	add := *j
	add.Status, add.Created = Queued, m.now()
	add.Updated = add.Created
	if add.describe(); add.Key != "" {
		add.Scope = cmp.Or(add.Scope, add.Dir)
	}
	var err error
	for range 5 { // ids of one millisecond may meet; five times is no accident
		if add.ID = j.ID; add.ID == "" {
			add.ID = New(add.Created)
		}
		var got *Job
		if got, err = m.Store.Add(ctx, &add); err == nil {
			if got.ID != add.ID && got.otherRequest(&add) {
				return got, fmt.Errorf("submit: %w", ErrKey)
			}
			return got, nil
		}
		if j.ID != "" {
			break
		}
		if _, there := find(ctx, m.Store, Query{ID: add.ID}); there != nil {
			break
		}
	}
	return nil, fmt.Errorf("submit: %w", err)
}

// otherRequest reports whether the job with a key was asked for something else than add.
func (j *Job) otherRequest(add *Job) bool {
	if j.Workflow != add.Workflow || j.Agent != add.Agent {
		return true
	}
	return j.Request != "" && add.Request != "" && j.Request != add.Request
}

// describe takes title and agent from the input, if it has them.
func (j *Job) describe() {
	var in struct {
		Agent  string `json:"agent"`
		Prompt string `json:"prompt"`
	}
	if json.Unmarshal(j.Input, &in) != nil {
		return
	}
	j.Agent = cmp.Or(j.Agent, in.Agent)
	if j.Title == "" {
		line, _, _ := strings.Cut(strings.TrimSpace(in.Prompt), "\n")
		if r := []rune(strings.TrimSpace(line)); len(r) > 80 {
			line = string(r[:79]) + "…"
		}
		j.Title = strings.TrimSpace(line)
	}
}

// Cancel asks for a job to end and waits until its runner has confirmed. It
// gives up after ten seconds; the request stays.
func (m *Manager) Cancel(ctx context.Context, id string, log *event.Event) (*Job, error) {
	if err := m.Store.Cancel(ctx, id, log); err != nil {
		return nil, err
	}
	late := fmt.Errorf("%s: its runner has not confirmed the cancel within %s; it will as soon as its step lets it", id, confirmCancel)
	ctx, stop := context.WithTimeoutCause(ctx, confirmCancel, late)
	defer stop()
	for {
		j, err := m.Wait(ctx, id)
		if err != nil || j.Status.Final() {
			return j, err
		}
		// Its runner has died and left it.
		if err := m.Store.Cancel(ctx, id, nil); err != nil && !errors.Is(err, ErrFinal) {
			return nil, err
		}
	}
}

// Wait waits until the job neither runs nor is queued to run: ended, waiting
// for a person, interrupted or blocked.
func (m *Manager) Wait(ctx context.Context, id string) (*Job, error) {
	tick := time.NewTicker(pollEnd)
	defer tick.Stop()
	for {
		j, err := find(ctx, m.Store, Query{ID: id})
		if err != nil {
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			return nil, err
		}
		if j.Status != Running && j.Status != Queued {
			return j, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return j, context.Cause(ctx)
		}
	}
}

// Resume continues a job that stopped. An interrupted, waiting or blocked job continues
// after its last step. A failed job retries the step that failed and keeps those that
// succeeded; one that a limit stopped or that was stuck continues if o.Reopen finds a
// way. The error is ErrFinal for a done or cancelled job; a new job repeats it.
func (m *Manager) Resume(ctx context.Context, id string, o RunOptions) (*Job, error) {
	j, err := find(ctx, m.Store, Query{ID: id})
	if err != nil {
		return nil, err
	}
	if _, err := resumable(j); err != nil {
		return nil, err
	}
	o.resumes = true
	return m.Run(ctx, id, o)
}

// reopen reopens a job that has ended, so that it goes on, with its files locked:
// it stays as it ended where they cannot be had, and another runner may have gone
// on with it until then.
func (m *Manager) reopen(ctx context.Context, id string, o *RunOptions) error {
	j, err := find(ctx, m.Store, Query{ID: id})
	if err != nil {
		return err
	}
	if o.reopened, err = resumable(j); err != nil || !o.reopened {
		return err
	}
	return m.Store.Reopen(ctx, id, o.Reopen)
}

// resumable reports whether a job has to be reopened to go on, or why it cannot.
func resumable(j *Job) (reopen bool, err error) {
	switch {
	case j.Status.Succeeded() || j.Status == Cancelled:
		return false, fmt.Errorf("%s: %w (%s); retry it to run it from the start", j.ID, ErrFinal, j.Status)
	case j.held():
		return false, fmt.Errorf("%s: %w", j.ID, ErrHeld)
	}
	return j.Status.Final() || j.Status == Blocked, nil
}

// Run claims a job and runs it until it ends, parks or is stopped. The job that it
// returns has the outcome; the error is nil whenever that was recorded. The end of ctx
// interrupts the job, which can be resumed; Cancel ends it. If another runner took the
// job meanwhile, Run stops before the next step, writes nothing more and returns
// ErrLeaseLost.
func (m *Manager) Run(ctx context.Context, id string, o RunOptions) (*Job, error) {
	if m.Mux == nil {
		return nil, errors.New("run: the manager has no Mux to perform steps")
	}
	s, err := m.claim(ctx, id, o)
	if err != nil {
		return nil, err
	}
	defer s.release()
	if err := s.queue(); err != nil {
		s.stop(err) // it is the cause, unless there is one
		return s.end(nil, err)
	}
	s.started()
	out, err := s.run()
	return s.end(out, err)
}

// claim takes the files and the lease of a job.
func (m *Manager) claim(ctx context.Context, id string, o RunOptions) (s *Session, err error) {
	unlock, err := m.lock(ctx, id)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			unlock()
		}
	}()
	if o.resumes {
		if err := m.reopen(ctx, id, &o); err != nil {
			return nil, err
		}
	}
	claim := m.Store.Claim
	if o.AtOnce > 0 {
		claim = m.Store.Enqueue
	}
	j, journal, err := claim(ctx, id, m.owner(), m.ttl())
	if err != nil {
		return nil, err
	}
	return m.session(ctx, o, j, journal, unlock), nil
}

// lock takes the job's files. A job that its runner could not finish although
// it ended in an orderly way is reopened, so that it counts as no crash.
func (m *Manager) lock(ctx context.Context, id string) (unlock func(), err error) {
	if m.Lock == nil {
		return func() {}, nil
	}
	j, err := find(ctx, m.Store, Query{ID: id})
	if err != nil {
		return nil, err
	}
	if j.held() {
		return nil, fmt.Errorf("%s: %w (%s)", id, ErrHeld, j.Lease.Owner)
	}
	var clean bool
	err = exhaustion.Retry(ctx, func() (err error) { unlock, clean, err = m.Lock(j); return err })
	if err != nil {
		return nil, fmt.Errorf("%s: %w", id, err)
	}
	if clean && j.Status == Interrupted && !j.Cancel {
		if err := m.Store.Reopen(ctx, id, flow.Reopener{}); err != nil {
			unlock()
			return nil, err
		}
	}
	return unlock, nil
}

// crockford is base 32 without letters that people confuse; it sorts as it
// counts.
const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// New gives an id for a job created at now: J, nine characters of time in
// milliseconds and four random ones. Ids sort by time.
func New(now time.Time) string {
	id := []byte("J-------------")
	ms := now.UnixMilli()
	for i := 9; i >= 1; i-- {
		id[i] = crockford[ms&31]
		ms >>= 5
	}
	var b [4]byte
	rand.Read(b[:]) // never fails: see its documentation
	for i, v := range b {
		id[10+i] = crockford[v&31]
	}
	return string(id)
}
