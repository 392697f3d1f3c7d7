package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/adroit-run/adroit/pkg/flow"
)

// Attend opens a session of a job whose workflow an engine elsewhere runs, such as that of
// pkg/temporal: it claims the job and gets its handlers ready. Of o, Park and AtOnce have
// no meaning here. The end of ctx stops the session as it stops a run. An error with a
// Status method is a job whose handlers could not be made, which has been recorded.
func (m *Manager) Attend(ctx context.Context, id string, o RunOptions) (*Session, error) {
	if m.Mux == nil {
		return nil, errors.New("attend: the manager has no Mux to perform steps")
	}
	s, err := m.claim(ctx, id, o)
	if err != nil {
		return nil, err
	}
	s.started()
	if s.mux, s.close, err = s.handlers(); err != nil {
		defer s.release()
		err = &setupError{err, s.job.Lease.Token > 1}
		_, unkept := s.end(nil, err)
		return nil, errors.Join(err, unkept)
	}
	s.asked = map[string]*answer{}
	return s, nil
}

// A Task is a step that an engine elsewhere asks for.
type Task struct {
	// Before are the steps that the engine has performed by itself since the task before.
	Before []flow.Past `json:"before,omitempty"`
	Step   flow.Step   `json:"step"`
	// Race means that the step belongs to a branch of a [flow.Race], and that it is lost
	// when the context of Do ends.
	Race bool `json:"race,omitempty"`
}

// An answer is the outcome of a step that was asked for.
type answer struct {
	over chan struct{} // closed when the rest is there
	out  json.RawMessage
	err  error
}

// outcome reports whether the step has an outcome: it failed, or it did not.
func (a *answer) outcome() bool { return a.err == nil || errors.As(a.err, new(*flow.StepError)) }

// keepAnswers is how many outcomes a session remembers.
const keepAnswers = 64

// Do performs a step, or returns the outcome that it had: an engine whose connection broke
// asks again. A *flow.StepError is an outcome. Any other error leaves the step as it is, and
// is that of the session if it has ended. The end of ctx stops the step, which stays open,
// and fails one of a race. A step of kind await is only journaled, as a question of the job.
func (s *Session) Do(ctx context.Context, t Task) (json.RawMessage, error) {
	key := t.Step.Path + "#" + t.Step.Sum()
	for {
		s.mu.Lock()
		a, again := s.asked[key]
		if !again {
			a = &answer{over: make(chan struct{})}
			s.asked[key] = a
			s.busy++
		}
		s.mu.Unlock()
		if !again {
			a.out, a.err = s.perform(ctx, t)
			s.remember(key, a)
			return a.out, a.err
		}
		select {
		case <-a.over:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if a.outcome() {
			return a.out, a.err
		}
	}
}

// remember keeps the outcome of a step that was performed.
func (s *Session) remember(key string, a *answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy--
	if !a.outcome() {
		delete(s.asked, key)
	} else if s.recent = append(s.recent, key); len(s.recent) > keepAnswers {
		delete(s.asked, s.recent[0])
		s.recent = slices.Delete(s.recent, 0, 1)
	}
	close(a.over)
}

func (s *Session) perform(ctx context.Context, t Task) (json.RawMessage, error) {
	own, stop := context.WithCancelCause(s.ctx)
	defer stop(nil)
	l := flow.NewLocal(own, &watched{s.journal, own, s.stop}, s.mux, s.rec.emit)
	l.Hook = s.o.Hook
	if t.Race {
		l.Lost = ctx
	} else {
		defer context.AfterFunc(ctx, func() { stop(context.Cause(ctx)) })()
	}
	if err := s.recordPast(t.Before); err != nil {
		return nil, err
	}
	if t.Step.Kind != flow.KindAwait {
		s.ask(nil)
		return l.Do(t.Step)
	}
	var w flow.Wait
	if err := json.Unmarshal(t.Step.Input, &w); err != nil {
		return nil, err
	}
	if err := l.Ask(t.Step); err != nil {
		return nil, err
	}
	s.ask(&flow.ParkedError{Path: t.Step.Path, Signals: w.Signals, About: w.About})
	return nil, nil
}

// ask notes the question for which the session waits, nil for none.
func (s *Session) ask(q *flow.ParkedError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parked = q
}

// recordPast journals what the engine has performed by itself, in its order.
func (s *Session) recordPast(before []flow.Past) error {
	if len(before) == 0 {
		return nil
	}
	s.past.Lock()
	defer s.past.Unlock()
	return flow.NewLocal(s.ctx, &watched{s.journal, s.ctx, s.stop}, s.mux, s.rec.emit).Record(before)
}

// Idle reports whether the session only waits for the answer to a question.
func (s *Session) Idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.busy == 0 && s.parked != nil
}

// Ended returns why the session has to end, nil if it does not: the lease was lost, the
// store failed, the job was cancelled, or the context of Attend has ended. Then Leave it.
func (s *Session) Ended() error { return context.Cause(s.ctx) }

// An ending is how a workflow that ran elsewhere has ended.
type ending struct {
	status Status
	reason string
}

func (e *ending) Error() string  { return e.reason }
func (e *ending) Status() string { return string(e.status) }
func (e *ending) Reason() string { return e.reason }

// Verdict returns how a workflow that ended with err went, as a status and a reason for
// people, for an engine that runs workflows itself.
func Verdict(err error) (Status, string) { return verdict(err, nil) }

// End records how the workflow of the job has ended, and ends the session. The job that it
// returns has no final status if that could not be recorded: open another session then.
func (s *Session) End(before []flow.Past, out json.RawMessage, status Status, reason string) (*Job, error) {
	defer s.release()
	s.wait()
	if err := s.recordPast(before); err != nil {
		s.stop(err)
		return s.end(nil, err)
	}
	if status == Done {
		return s.end(out, nil)
	}
	return s.end(out, &ending{status, reason})
}

// Leave ends a session that has nothing to do, so that the lease and the files of the job
// are free: it waits for a person, or it was interrupted. The job goes on when it is attended
// again. Who performs a step at the moment is stopped.
func (s *Session) Leave() (*Job, error) {
	defer s.release()
	s.mu.Lock()
	parked := s.parked
	s.mu.Unlock()
	if parked != nil && s.Ended() == nil {
		return s.end(nil, parked)
	}
	s.stop(ErrStopped)
	s.wait()
	return s.end(nil, context.Cause(s.ctx))
}

// wait waits until no step is performed any more.
func (s *Session) wait() {
	s.mu.Lock()
	under := make([]*answer, 0, len(s.asked))
	for _, a := range s.asked {
		under = append(under, a)
	}
	s.mu.Unlock()
	for _, a := range under {
		<-a.over
	}
}
