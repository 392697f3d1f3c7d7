package adroit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"reflect"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// A Job is a handle on one job of a [Client]: start it, follow it, answer what it asks,
// take back what it did. [Start] makes one for a request, [Find] for a job that is there
// already, of an earlier process too. It holds nothing open, and is safe for concurrent use.
// A runtime in memory keeps a job for as long as a handle on it is reachable.
type Job struct {
	client Client
	id     string

	mu  sync.Mutex
	run *jobRun // the last that this handle has begun in this process
}

// Start submits a request and starts its job. The end of ctx ends neither: the job ends by
// itself, by [Job.Stop] or [Job.Cancel], or with Close of the runtime. A request with the Key of
// an earlier job adds none: Start goes on with that job or joins its run, and if it has
// ended Wait reports the end.
func Start(ctx context.Context, c Client, r Request) (*Job, error) {
	s, err := c.Submit(ctx, r)
	if err != nil {
		return nil, err
	}
	j := handle(c, s.Job.ID)
	return j, j.begin(ctx, s.Job)
}

func handle(c Client, id string) *Job {
	j := &Job{client: c, id: id}
	if rt, ok := c.(*Runtime); ok && rt.forgets {
		rt.mu.Lock()
		defer rt.mu.Unlock()
		rt.handles[id]++
		goruntime.AddCleanup(j, rt.letGo, id)
	}
	return j
}

// begin starts a job that neither runs nor has ended.
func (j *Job) begin(ctx context.Context, now *jobs.Job) error {
	if now.Status.Final() || held(now) {
		return nil
	}
	_, err := j.Start(ctx, StartOptions{})
	if errors.Is(err, jobs.ErrHeld) || errors.Is(err, jobs.ErrFinal) {
		return nil // somebody else was faster
	}
	return err
}

// Find returns the handle of a job: ref is its id, or a unique beginning or end of it.
func Find(ctx context.Context, c Client, ref string) (*Job, error) {
	d, err := c.Job(ctx, ref)
	if err != nil {
		return nil, err
	}
	return handle(c, d.Job.ID), nil
}

// Run submits a request, runs its job and waits until it stops. The end of ctx interrupts
// the job; the error is then a [*StatusError], which has the job to [Find] and go on with, as
// for a job that waits for a person. A request with a Key is as for [Start].
func Run(ctx context.Context, c Client, r Request) (*executor.State, error) {
	s, err := c.Submit(ctx, r)
	if err != nil {
		return nil, err
	}
	j := handle(c, s.Job.ID)
	if err := j.begin(context.WithoutCancel(ctx), s.Job); err != nil {
		return nil, err
	}
	defer j.stopWith(ctx, "")()
	state, err := j.Wait(context.WithoutCancel(ctx))
	if e := new(StatusError); errors.As(err, &e) && e.Job.Status == jobs.Interrupted && ctx.Err() != nil {
		e.cause = context.Cause(ctx)
	}
	return state, err
}

// RunAs is [Run] with a typed result: a struct, whose schema constrains the final answer of
// an agent that the request has by value, or a string, which is any text.
func RunAs[T any](ctx context.Context, c Client, r Request) (result T, err error) {
	if r.Spec != nil && r.Spec.Output == nil && reflect.TypeFor[T]().Kind() != reflect.String {
		spec := *r.Spec
		if spec.Output, err = agents.OutputOf[T](); err != nil {
			return result, err
		}
		r.Spec = &spec
	}
	s, err := Run(ctx, c, r)
	if err != nil {
		return result, err
	}
	return ResultAs[T](s)
}

// ResultAs decodes a job's answer, as RunAs returns it: the artifact "output", which an agent
// with an Output binds, or else the last text.
func ResultAs[T any](s *executor.State) (result T, err error) {
	text := reflect.TypeFor[T]().Kind() == reflect.String
	raw := s.Value("output")
	switch {
	case raw == nil && text:
		reflect.ValueOf(&result).Elem().SetString(s.Last)
		return result, nil
	case raw == nil:
		raw = json.RawMessage(s.Last)
	}
	if err := json.Unmarshal(raw, &result); err != nil {
		return result, fmt.Errorf("decoding the answer as %T: %w", result, err)
	}
	return result, nil
}

// ID is the job's, by which Find knows it.
func (j *Job) ID() string { return j.id }

// Start runs the job, or goes on with it, and returns once it is claimed: after an answer,
// an interruption or a failure, or with other limits after a limit.
func (j *Job) Start(ctx context.Context, o StartOptions) (*Started, error) {
	s, err := j.start(ctx, o)
	if !errors.Is(err, jobs.ErrHeld) {
		return s, err
	}
	d, failed := j.client.Job(ctx, j.id)
	if failed != nil || held(d.Job) {
		return s, err
	}
	if _, err := j.client.Wait(ctx, j.id); err != nil { // until the run that has ended lets go of it
		return nil, err
	}
	return j.start(ctx, o)
}

func (j *Job) start(ctx context.Context, o StartOptions) (*Started, error) {
	rt, here := j.client.(*Runtime)
	if !here {
		return j.client.Start(ctx, j.id, o)
	}
	s, run, err := rt.startRun(ctx, j.id, o)
	if err != nil {
		return nil, err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.run = run
	return s, nil
}

// Wait waits until the job neither runs nor is queued to run, and returns the state as far
// as it got. The end of ctx ends the waiting; the job goes on. The error is nil if the job
// is done, an [*executor.StopError] if it ended otherwise, and a [*StatusError] if it may go on
// or never got to have an outcome.
func (j *Job) Wait(ctx context.Context) (*executor.State, error) {
	now, err := j.client.Wait(ctx, j.id)
	if errors.Is(err, jobs.ErrNotExist) || errors.Is(err, ErrClosed) {
		now, err = j.ended(err)
	}
	if err != nil {
		return nil, err
	}
	return result(now)
}

// ended is the job as this handle's run has left it, where the runtime has forgotten it or
// was closed.
func (j *Job) ended(unknown error) (*jobs.Job, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.run == nil || !j.run.ended() || j.run.job == nil {
		return nil, unknown
	}
	return j.run.job, nil
}

// Events yields the numbered events of the job after o.After. With o.Follow it goes on over
// questions, interruptions and restarts, in whatever process, until the job has ended.
func (j *Job) Events(ctx context.Context, o EventOptions) iter.Seq2[event.Event, error] {
	if !o.Follow {
		return j.client.Events(ctx, j.id, o)
	}
	return func(yield func(event.Event, error) bool) {
		for pause, last := firstPause, false; ; {
			before := o.After
			for ev, err := range j.client.Events(ctx, j.id, o) {
				if !yield(ev, err) || err != nil {
					return
				}
				o.After = max(o.After, ev.Seq)
			}
			switch {
			case o.After > before:
				pause, last = firstPause, false
			case last:
				return // it has ended, and nothing came after that was seen
			}
			now, err := j.client.Wait(ctx, j.id)
			if err != nil {
				yield(event.Event{}, err)
				return
			}
			if last = now.Status.Final(); last {
				continue
			}
			select {
			case <-ctx.Done():
				yield(event.Event{}, context.Cause(ctx))
				return
			case <-time.After(pause):
				pause = min(2*pause, longestPause)
			}
		}
	}
}

// How long Events waits before it looks again whether a job that stands still goes on.
const (
	firstPause   = 20 * time.Millisecond
	longestPause = time.Second
)

// Follow passes on the events of the run that is under way, until it ends: when the job asks
// something, was stopped or has ended. The end of ctx stops the job; why is its cause, or
// reason if that says nothing. Follow returns when it has stopped.
func (j *Job) Follow(ctx context.Context, o EventOptions, reason string, each func(event.Event)) error {
	all := context.WithoutCancel(ctx) // what happens to the job is read to its end
	stopped := j.stopWith(ctx, reason)
	o.Follow = true
	var broken error
	for ev, err := range j.client.Events(all, j.id, o) {
		if broken = err; err != nil {
			break
		}
		each(ev)
	}
	_, err := j.client.Wait(all, j.id)
	stopped()
	return errors.Join(err, broken)
}

// stopWith stops the job at the end of ctx. done ends that, and waits for a stop that has
// begun.
func (j *Job) stopWith(ctx context.Context, reason string) (done func()) {
	stopped := make(chan struct{})
	keep := context.AfterFunc(ctx, func() {
		defer close(stopped)
		switch cause := context.Cause(ctx); {
		case errors.Is(cause, context.DeadlineExceeded):
			reason = "the caller's time is over"
		case !errors.Is(cause, context.Canceled):
			reason = cause.Error()
		}
		_, _ = j.client.Stop(context.WithoutCancel(ctx), j.id, reason) // Wait returns how it went
	})
	return func() {
		if !keep() {
			<-stopped
		}
	}
}

// Questions returns the job's open questions, in the order of their paths.
func (j *Job) Questions(ctx context.Context) ([]jobs.Question, error) {
	d, err := j.client.Job(ctx, j.id)
	if err != nil {
		return nil, err
	}
	return d.Questions, nil
}

// Approve lets the job do what q asks about, this question and no other: nothing is sent,
// and the error is [jobs.ErrAnswered], unless the job asks it now and about the same. A job
// that has stopped for it goes on with Start.
func (j *Job) Approve(ctx context.Context, q jobs.Question) error {
	return j.answer(ctx, q, "approve", nil)
}

// Deny refuses what q asks about, as Approve allows it. The model reads why; "" gives no
// reason.
func (j *Job) Deny(ctx context.Context, q jobs.Question, why string) error {
	if why == "" {
		return j.answer(ctx, q, "deny", nil)
	}
	return j.answer(ctx, q, "deny", why)
}

// Answer gives the question the value that it asks for, as JSON: of a question that takes one
// signal, as that of ask_user or of flow.Await. It fails as Approve does.
func (j *Job) Answer(ctx context.Context, q jobs.Question, value any) error {
	if len(q.Signals) != 1 {
		return problem.Invalidf("Client.Signal sends one of them", "the question %s takes %s, not one answer", q.Path, strings.Join(q.Signals, ", "))
	}
	name, _, _ := strings.Cut(q.Signals[0], "@")
	return j.answer(ctx, q, name, value)
}

// answer sends the signal of a question that name means, to that question alone.
func (j *Job) answer(ctx context.Context, q jobs.Question, name string, value any) error {
	i := slices.IndexFunc(q.Signals, func(s string) bool { short, _, _ := strings.Cut(s, "@"); return short == name })
	if i < 0 {
		return problem.Invalidf("it takes "+strings.Join(q.Signals, ", "), "the question %s does not take %q", q.Path, name)
	}
	s := Signal{Name: q.Signals[i], Question: q.Path, About: q.About}
	if value != nil {
		raw, err := json.Marshal(value)
		if err != nil {
			return fmt.Errorf("the answer to %s: %w", q.Path, err)
		}
		s.Value = raw
	}
	_, err := j.client.Signal(ctx, j.id, s)
	return err
}

// sameQuestion refuses an answer to what a job asked at the same place before.
func sameQuestion(j *jobs.Job, q jobs.Question, about json.RawMessage) error {
	if about == nil || sameJSON(about, q.About) {
		return nil
	}
	return answered(hint.Command("jobs show %s", j.ID)+" shows what it asks", "%s asks something else at %s now; nothing was sent", j.ID, q.Path)
}

// sameJSON reports whether two texts are the same value: a sender may write it back in
// another order, and > as it is or as an escape.
func sameJSON(a, b json.RawMessage) bool {
	var values [2]any
	for i, text := range []json.RawMessage{a, b} {
		dec := json.NewDecoder(bytes.NewReader(text))
		dec.UseNumber() // or large numbers were equal to their neighbours
		if dec.Decode(&values[i]) != nil {
			return false
		}
	}
	return reflect.DeepEqual(values[0], values[1])
}

// Undo takes back what the job did to files, as far as the selection says; the zero value
// is all that is certain.
func (j *Job) Undo(ctx context.Context, s Selection) (*UndoReport, error) {
	return j.client.Undo(ctx, j.id, s)
}

// Stop interrupts the job where its runtime runs it, and waits for that. Start goes on with
// it. The reason is the job's; "" says that the operator stopped it.
func (j *Job) Stop(ctx context.Context, reason string) error {
	_, err := j.client.Stop(ctx, j.id, reason)
	return err
}

// Cancel ends the job for good, wherever it runs, and waits until its runner has confirmed.
func (j *Job) Cancel(ctx context.Context) error {
	_, err := j.client.Cancel(ctx, j.id)
	return err
}

// result is the state of a job that has stopped, and why it is not done.
func result(j *jobs.Job) (*executor.State, error) {
	var s *executor.State
	if len(j.Output) > 0 {
		if err := json.Unmarshal(j.Output, &s); err != nil {
			return nil, fmt.Errorf("job %s: decoding its result: %w", j.ID, err)
		}
	}
	switch {
	case j.Status.Succeeded():
		return s, nil
	case slices.Contains([]jobs.Status{jobs.Waiting, jobs.Interrupted, jobs.Queued, jobs.Running}, j.Status):
		// What there is of an outcome is of before.
	case s != nil && s.Outcome != nil:
		return s, &executor.StopError{Outcome: *s.Outcome}
	}
	return s, &StatusError{Job: *j}
}

// A StatusError is a job that stopped without an outcome: it waits for a
// person, was interrupted, cancelled or blocked, or failed before its loop.
type StatusError struct {
	Job jobs.Job

	cause error
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("job %s is %s: %s", e.Job.ID, e.Job.Status, e.Job.Reason)
}

// Unwrap is [jobs.ErrStopped] of a job that was interrupted, with the cause of the end of
// Run's context, as context.DeadlineExceeded; [jobs.ErrBlocked] of a blocked job.
func (e *StatusError) Unwrap() []error {
	switch e.Job.Status {
	case jobs.Interrupted:
		return slices.DeleteFunc([]error{jobs.ErrStopped, e.cause}, func(err error) bool { return err == nil })
	case jobs.Blocked:
		return []error{jobs.ErrBlocked}
	}
	return nil
}

// An Agent is an agent built in Go, with the client that runs it.
type Agent struct {
	agents.DynamicAgent
	client Client
}

// Agent binds an agent to the runtime, so that Execute works.
func (rt *Runtime) Agent(a agents.DynamicAgent) *Agent { return &Agent{a, rt} }

// Execute is [Start] with a request to the agent, which travels by value: changing it later
// does not change the job.
func (a *Agent) Execute(ctx context.Context, in agents.Input) (*Job, error) {
	spec := a.DynamicAgent
	in.Agent, in.Spec = a.Name, &spec
	return Start(ctx, a.client, Request{Input: in})
}
