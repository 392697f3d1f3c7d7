// Package jobs keeps track of what was asked for and how it is going.
//
// A [Job] is a workflow with its input, its status and its result. A [Store]
// keeps jobs, their journals, signals and numbered event logs; the [Manager]
// creates, runs, resumes and cancels them. One running job is held by one
// runner through a lease with a fencing token: a runner that lost its lease
// cannot write any more.
//
// The package is not a distributed queue. It serves one machine.
package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/adroit-run/adroit/internal/stored"
	"github.com/adroit-run/adroit/internal/system/exhaustion"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/flow"
)

// A Status is the state of a job.
type Status string

const (
	Queued      Status = "queued"
	Running     Status = "running"
	Waiting     Status = "waiting"     // for a person; see Job.Questions
	Interrupted Status = "interrupted" // its runner died or was stopped; resume continues it
	Blocked     Status = "blocked"     // its workflow diverged from its journal, or it crashed its runner three times
	Done        Status = "done"
	Answered    Status = "answered"   // in words: no file was changed
	Planned     Status = "planned"    // a plan: nothing was changed or tested
	NotNeeded   Status = "not_needed" // nothing has to be changed, and the checks pass
	Failed      Status = "failed"
	Cancelled   Status = "cancelled"

	// Stopped short of being done.

	Limit             Status = "limit"               // by a limit
	Stuck             Status = "stuck"               // it made no progress
	NotNeededUnproven Status = "not_needed_unproven" // nothing has to be changed by the model's account alone
	CannotBeDone      Status = "cannot_be_done"      // by the model's account
	Silent            Status = "went_silent"         // the model answers with nothing
)

// Statuses lists the valid values of Status.
var Statuses = []Status{Queued, Running, Waiting, Interrupted, Blocked, Done, Answered, Planned, NotNeeded,
	Limit, Stuck, NotNeededUnproven, CannotBeDone, Silent, Failed, Cancelled}

// Known implements stored.Enum.
func (s Status) Known() bool { return slices.Contains(Statuses, s) }

// Ended lists the statuses in which a job never runs again by itself.
func Ended() []Status {
	return slices.DeleteFunc(slices.Clone(Statuses), func(s Status) bool { return !s.Final() })
}

// Succeeded reports whether a job in this status did what was asked.
func (s Status) Succeeded() bool {
	return s == Done || s == Answered || s == Planned || s == NotNeeded
}

// Halted reports whether a job was stopped short of being done by a decision
// that holds as long as nothing else changes.
func (s Status) Halted() bool {
	return slices.Contains([]Status{Limit, Stuck, NotNeededUnproven, CannotBeDone, Silent}, s)
}

// Words is the status for people.
func (s Status) Words() string {
	if s == NotNeededUnproven {
		return "not needed, unproven"
	}
	return strings.ReplaceAll(string(s), "_", " ")
}

// Reopening returns what plans the reopening of a job in this status, nil if it
// goes on as it stands.
func (s Status) Reopening(o flow.Reopener) func(flow.History) (flow.Reopening, error) {
	switch {
	case s == Failed || s.Halted() || s.Succeeded() && o.Send != nil:
		return func(h flow.History) (flow.Reopening, error) {
			plan, err := o.Plan(h)
			if err == nil && plan.Empty() && s != Failed {
				err = fmt.Errorf("%w (%s)", ErrFinal, s)
			}
			return plan, err
		}
	case o.Send != nil && (s == Cancelled || s == Running || s == Interrupted || s == Blocked):
		return func(h flow.History) (flow.Reopening, error) {
			h.Stopped = true
			return o.Plan(h)
		}
	}
	return nil
}

// held reports whether a runner has the job: it runs, or is queued for a place.
func (j *Job) held() bool {
	return j.Status == Running || j.Status == Queued && j.Lease.Owner != ""
}

// Final reports whether a job in this status never runs again by itself.
func (s Status) Final() bool {
	return s.Succeeded() || s.Halted() || s == Failed || s == Cancelled
}

// A Job is one request and its fate.
type Job struct {
	ID       string          `json:"id"`
	Workflow string          `json:"workflow"`
	Agent    string          `json:"agent,omitempty"`
	Title    string          `json:"title,omitempty"` // the prompt's first line
	Dir      string          `json:"dir,omitempty"`   // the workspace, absolute
	Model    string          `json:"model,omitempty"`
	Input    json.RawMessage `json:"input"`
	Key      string          `json:"key,omitempty"`     // of an idempotent submit, unique in Scope
	Scope    string          `json:"scope,omitempty"`   // the directory that was named; Dir if empty. Of a job in a worktree it is another
	Request  string          `json:"request,omitempty"` // digest of what was asked with Key; empty if not known
	// Host is private data that the program which submits and runs jobs keeps with this
	// one. It may have secrets and is shown to nobody.
	Host     json.RawMessage `json:"-"`
	Status   Status          `json:"status"`
	Reason   string          `json:"reason,omitempty"` // why it stopped, in a sentence
	Output   json.RawMessage `json:"output,omitempty"`
	Cancel   bool            `json:"cancel,omitempty"` // asked for, perhaps not yet done
	Crashes  int             `json:"crashes,omitempty"`
	Created  time.Time       `json:"created"`
	Started  time.Time       `json:"started,omitzero"`
	Updated  time.Time       `json:"updated"`
	Finished time.Time       `json:"finished,omitzero"`
	// Lease names the job's runner, also while the job waits for a place; the zero value
	// means that there is none.
	Lease Lease `json:"lease,omitzero"`
	// Questions are the awaiting steps that have no answer yet, in the order of their
	// paths, without those that a queued signal will answer. Only Find and a Query that
	// asks for them fill them in.
	Questions []Question `json:"questions,omitempty"`
	// Signals were sent and not received yet, the oldest first. They come with
	// Questions.
	Signals []flow.Signal `json:"signals,omitempty"`
	// Replaced lists the secrets in the submitted input that were not kept. Only the
	// reply to the submitter has them.
	Replaced []struct {
		Where       string `json:"where"` // as in "the prompt"
		Kind        string `json:"kind,omitempty"`
		Fingerprint string `json:"fingerprint,omitempty"` // as secrets.known takes it
	} `json:"replaced,omitempty"`
}

// A Lease is a runner's right to run a job until Expires. Token grows with
// every claim; a store refuses writes with an old one.
type Lease struct {
	Owner   string    `json:"owner"` // host:pid of the runner
	Token   int64     `json:"token"`
	Expires time.Time `json:"expires"`
}

// errCancelled is the cause of the end of a run that was cancelled.
var errCancelled = errors.New("cancelled")

// Errors that callers branch on.
var (
	ErrNotExist  = errors.New("no such job")
	ErrHeld      = errors.New("another runner has the job")
	ErrLeaseLost = errors.New("the lease was lost to another runner")
	ErrFinal     = errors.New("the job has ended")
	ErrRunning   = errors.New("the job is running")
	ErrBlocked   = errors.New("the job is blocked; look at its reason, then reopen it")
	ErrKey       = errors.New("the key belongs to another request")
	ErrAnswered  = errors.New("the question has its answer already")
	ErrStopped   = errors.New("stopped by the operator") // Ctrl-C: the job is interrupted, not cancelled
)

// A Query selects jobs. The zero value selects all, newest first.
type Query struct {
	ID     string
	Status []Status
	Agent  string
	// Workflow is the name of the job's workflow.
	Workflow string
	Prefix   string // of the id
	Limit    int
	// Brief leaves out Input, and Output except of jobs that a limit stopped: it
	// names the limit. A store need not heed it.
	Brief bool
	// Questions fills in Job.Questions and Job.Signals.
	Questions bool
}

// A Store keeps jobs and all that belongs to them. Methods that return nil
// have made their effect durable. It is safe for concurrent use, also by
// several processes. Package jobstest has the suite that every Store passes; it also
// demands:
//
//   - a job whose runner died is interrupted, with a reason and without a lease; one
//     that was queued counts no crash, and a finished step takes crashes back;
//   - a step of kind "await" that nobody has answered is a Question of its job, unless
//     its Wait has a negative Timeout.
type Store interface {
	// Add creates j as queued. If j.Key is set and a job of j.Scope has it already, that job is
	// returned and nothing is created.
	Add(ctx context.Context, j *Job) (*Job, error)
	List(ctx context.Context, q Query) ([]*Job, error)
	// Remove deletes an ended job with its journal, events and signals, and
	// blobs that no other job refers to. ErrRunning if it is held.
	Remove(ctx context.Context, id string) error

	// Claim takes the lease of a job that nobody holds, sets it running and
	// returns its journal. ErrHeld if another runner has it, ErrFinal if it has
	// ended.
	Claim(ctx context.Context, id, owner string, ttl time.Duration) (*Job, Journal, error)
	// Enqueue is Claim for a job that runs when it has a place: it is queued, and
	// its runner's, until Journal.Start.
	Enqueue(ctx context.Context, id, owner string, ttl time.Duration) (*Job, Journal, error)
	// Reopen makes an ended, cancelled, interrupted, waiting or blocked job claimable
	// again: it is queued, without a reason. Of one that failed or was stopped by a limit, what o plans is tried
	// again. ErrFinal if it was stopped by a limit, was stuck, or is done and a
	// signal goes with it, and there is nothing to go on with. ErrRunning if it is
	// held.
	Reopen(ctx context.Context, id string, o flow.Reopener) error
	// Cancel asks the runner of a job to end it. A job that nobody holds is
	// finished as cancelled at once, and its log ends with a job.finished that has a
	// Final. ErrFinal if it has ended. log, if it is not nil, goes into the job's log if
	// the job is cancelled, and only then.
	Cancel(ctx context.Context, id string, log *event.Event) error

	// Send queues a signal until the job asks for it. ErrFinal if it has ended,
	// ErrAnswered if sig.Question is none of its questions, or another signal that is
	// queued answers it: of several answers to a question one is taken.
	// What sig has for the log is there if the signal is, and only then.
	Send(ctx context.Context, job string, sig flow.Signal) error
	// Events replays the events of job after the given number and then, if
	// follow is set, waits for more until the job is no longer running.
	Events(ctx context.Context, job string, after int64, follow bool) iter.Seq2[event.Event, error]
	// AllEvents replays the events of all jobs, those of other processes included, each with
	// its ID, after the given one and then, if follow is set, waits for more until ctx ends.
	// With a negative after it begins with the last -after events. IDs grow in the order in
	// which readers see the events, and are not used again when a job is removed.
	AllEvents(ctx context.Context, after int64, follow bool) iter.Seq2[event.Event, error]
	// Inputs returns the inputs that the steps of job asked to keep, the oldest
	// first. An input that an earlier job had, too, may come before its time.
	Inputs(ctx context.Context, job string) ([]json.RawMessage, error)
}

// A Journal is a lease holder's access to the records of its job. Every method returns
// ErrLeaseLost once another runner has the job.
type Journal interface {
	flow.Journal
	// Start sets a queued job running if then at most atOnce jobs of the store run,
	// and returns 0; else it returns the job's position in the queue, from 1. Only
	// jobs that a living runner has count, and of the queued ones those that were
	// added earlier.
	Start(ctx context.Context, atOnce int) (position int, err error)
	// History returns the job's checkpoints and those of its steps that engines perform
	// themselves, with what they came to: the rest of its history is recalled step by step.
	History(ctx context.Context) (flow.History, error)
	// Append numbers events and keeps them, all or none. Deltas are not kept. It
	// does not wait for the disk: see Sync.
	Append(ctx context.Context, evs ...event.Event) error
	// Sync returns when everything that was written so far is durable.
	Sync(ctx context.Context) error
	// Kinds returns the kinds of the steps in the journal, each with the path of one.
	Kinds(ctx context.Context) (map[string]string, error)
	// Heartbeat extends the lease and reports whether a cancel was asked for.
	Heartbeat(ctx context.Context, ttl time.Duration) (cancel bool, err error)
	// FinishJob records status, reason and output of j, with which the run ended, and
	// gives the lease back. last, if not nil, is appended to the event log in
	// the same transaction. A job cannot be finished as running. ErrFinal, and
	// the lease stays, if a cancel was asked for and j.Status is no end: the cancel wins.
	FinishJob(ctx context.Context, j *Job, last *event.Event) error
}

// Find returns the job with this id, its questions included, or ErrNotExist.
func Find(ctx context.Context, s Store, id string) (*Job, error) {
	return find(ctx, s, Query{ID: id, Questions: true})
}

func find(ctx context.Context, s Store, q Query) (*Job, error) {
	list, err := s.List(ctx, q)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s: %w", q.ID, ErrNotExist)
	}
	return list[0], nil
}

// A Question is an awaiting step that nobody has answered.
type Question struct {
	Path    string          `json:"path"`
	Signals []string        `json:"signals"`
	About   json.RawMessage `json:"about,omitempty"`
	Asked   time.Time       `json:"asked,omitzero"`
	Until   time.Time       `json:"until,omitzero"` // when the job goes on without an answer; zero is never
	Type    string          `json:"type,omitempty"` // of the answer: see flow.Wait
}

// Ask is the question that a step which waits for w asks since it began.
func Ask(path string, w flow.Wait, since time.Time) Question {
	q := Question{Path: path, Signals: w.Signals, About: w.About, Asked: since, Type: w.Type}
	if w.Timeout > 0 {
		q.Until = since.Add(w.Timeout)
	}
	return q
}

// Over reports whether the time to answer is over.
func (q Question) Over(now time.Time) bool { return !q.Until.IsZero() && !now.Before(q.Until) }

// A blockedError is a job this program cannot run, which is not the job's
// fault.
type blockedError struct{ reason string }

func (e *blockedError) Error() string  { return e.reason }
func (e *blockedError) Status() string { return string(Blocked) }
func (e *blockedError) Reason() string { return e.reason }

// A setupError is a Mux that could not be made. A job is kept resumable
// if it had begun, or if the host is to blame: what it needs may come back.
type setupError struct {
	err   error
	begun bool
}

func (e *setupError) Error() string  { return e.err.Error() }
func (e *setupError) Unwrap() error  { return e.err }
func (e *setupError) Reason() string { return e.err.Error() }
func (e *setupError) Status() string {
	if e.begun || exhaustion.Of(e.err) != "" || errors.Is(e.err, syscall.EIO) || errors.As(e.err, new(*flow.InfrastructureError)) {
		return string(Interrupted)
	}
	return string(Failed)
}

// A storeError is a store that failed the run: the job is not at fault and
// can be resumed.
type storeError struct{ err error }

func (e *storeError) Error() string { return "the store failed: " + e.err.Error() }
func (e *storeError) Unwrap() error { return e.err }

// A panicError is a workflow that panicked.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("the workflow panicked: %v", e.value) }

// verdict returns how a run ended, as a status and a sentence. cause is the reason
// for its context's end, nil if it did not end.
func verdict(err, cause error) (Status, string) {
	var own interface {
		error
		Status() string
		Reason() string
	}
	parked, diverged, crash := new(flow.ParkedError), new(flow.DivergedError), new(panicError)
	unknown := new(stored.UnknownError)
	store, infra, step := new(storeError), new(flow.InfrastructureError), new(flow.StepError)
	switch {
	case errors.As(cause, &store):
		return Interrupted, fmt.Sprintf("%s; put that right, then resume it", store)
	case errors.As(err, &infra):
		return Interrupted, fmt.Sprintf("%s; put that right, then resume it", infra)
	case err == nil:
		return Done, ""
	case errors.As(err, &unknown):
		return Blocked, err.Error()
	case errors.As(err, &own):
		if status := Status(own.Status()); status.Known() {
			return status, own.Reason()
		}
		return Failed, fmt.Sprintf("its workflow ended with the status %q, which there is not: %s", own.Status(), own.Reason())
	case errors.As(err, &parked):
		return Waiting, awaited(parked.Signals)
	case errors.As(err, &diverged):
		return Blocked, diverged.Error()
	case errors.As(err, &crash):
		return Failed, crash.Error()
	case errors.Is(cause, errCancelled), errors.Is(err, errCancelled):
		return Cancelled, errCancelled.Error()
	case cause != nil && errors.Is(cause, context.Canceled):
		return Interrupted, "interrupted"
	case cause != nil:
		return Interrupted, cause.Error()
	case errors.As(err, &step):
		return Failed, step.Message
	}
	return Failed, err.Error()
}

// awaited lists the signals a job waits for, without the steps that some of
// their names end with.
func awaited(signals []string) string {
	names := make([]string, len(signals))
	for i, s := range signals {
		names[i], _, _ = strings.Cut(s, "@")
	}
	if len(names) == 1 {
		return "waits for the signal " + names[0]
	}
	return "waits for one of the signals " + strings.Join(names, ", ")
}

// end closes the log after a run that returned out and err, ends the heartbeat
// and records how the run ended.
func (s *Session) end(out json.RawMessage, err error) (*Job, error) {
	if p := new(panicError); errors.As(err, &p) {
		s.emit(event.Event{Kind: event.Note, Text: fmt.Sprintf("%s\n%s", p, p.stack)})
	}
	cause := context.Cause(s.ctx)
	late := exhaustion.Outlive(s.ctx)
	unkept := s.rec.close(late)
	// The heartbeat goes on until here: a sync may take as long as a disk wants.
	s.beats()
	if errors.Is(err, ErrLeaseLost) || errors.Is(unkept, ErrLeaseLost) || errors.Is(cause, ErrLeaseLost) {
		return nil, fmt.Errorf("%s: %w", s.job.ID, ErrLeaseLost)
	}
	if unkept != nil && cause == nil {
		cause = &storeError{unkept}
	}
	return s.finish(late, out, err, cause)
}

// finish records how the run ended. ctx must not be the one that ended it.
func (s *Session) finish(ctx context.Context, out json.RawMessage, err, cause error) (*Job, error) {
	j := *s.job
	j.Status, j.Reason = verdict(err, cause)
	if len(out) > 0 && string(out) != "null" {
		j.Output = out
	}
	parked := new(flow.ParkedError)
	if j.Status != Waiting || !errors.As(err, &parked) {
		parked = nil
	}
	if j.Status == Done {
		var out struct {
			Outcome struct {
				Status Status
				Reason string
			}
		}
		if json.Unmarshal(j.Output, &out) == nil {
			if j.Reason = out.Outcome.Reason; out.Outcome.Status.Succeeded() {
				j.Status = out.Outcome.Status
			}
		}
	}
	fin := final(&j, parked)
	if s.rec.parts.Load() || fin.Agents > 0 || fin.bare() {
		a := new(UsageReport)
		for ev, err := range s.m.Store.Events(ctx, j.ID, 0, false) {
			if err != nil {
				return nil, errors.Join(fmt.Errorf("%s: reading its events: %w", j.ID, err), cause)
			}
			a.Add(ev)
		}
		fin.addUsage(a)
	}
	s.final = fin
	data, merr := json.Marshal(fin)
	if merr != nil {
		return nil, fmt.Errorf("%s: encoding its outcome: %w", j.ID, merr)
	}
	last := event.Event{Job: j.ID, Time: s.m.now(), Kind: event.JobFinished, Text: j.Reason, Data: data}
	if j.Status == Waiting {
		last.Kind = event.JobWaiting
	}
	if s.m.Clean != nil {
		last = s.m.Clean(last)
		j.Reason = last.Text
	}
	if err := s.journal.FinishJob(ctx, &j, &last); errors.Is(err, ErrFinal) {
		return s.finish(ctx, out, errCancelled, errCancelled) // asked for in the last moment
	} else if err != nil {
		// Left as it is, the job shows as interrupted once the lease is over.
		return nil, errors.Join(fmt.Errorf("%s: recording how it ended: %w", j.ID, err), cause)
	}
	s.rec.show(last)
	return find(ctx, s.m.Store, Query{ID: j.ID})
}
