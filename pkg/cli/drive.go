package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/exit"
	"github.com/adroit-run/adroit/pkg/cli/internal/render"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// drive runs a job in the foreground until it ends, waits for a person who is
// not here, or is stopped, and prints the outcome. With asJSON, stdout carries
// the job's events and nothing else.
func (a *app) drive(ctx context.Context, m *jobs.Manager, job *jobs.Job, asJSON bool) error {
	return a.driveOn(ctx, m, job, executor.Limits{}, asJSON)
}

// driveOn is drive for a job that goes on with other limits than those that
// stopped it.
func (a *app) driveOn(ctx context.Context, m *jobs.Manager, job *jobs.Job, more executor.Limits, asJSON bool) error {
	past, err := render.ReadHistory(m.Store.Events(context.WithoutCancel(ctx), job.ID, 0, false), a.rate())
	if err != nil {
		return err
	}
	run := m.Run
	if job.Status != jobs.Queued {
		run = m.Resume
	}
	for {
		start := time.Now()
		o := jobs.RunOptions{Park: true, Hook: killHook()}
		if err := a.reopening(job, more, &o); err != nil {
			return err
		}
		end := a.watch(ctx, m.Store, job.ID, &past, asJSON, &o)
		done, err := run(ctx, job.ID, o)
		end()
		if errors.Is(err, jobs.ErrFinal) && job.Status == jobs.Limit {
			return exit.Usagef(raiseHint(job), "%s was stopped by a limit that %s does not raise: %s", job.ID, more, job.Reason)
		}
		if err != nil {
			return a.runFault(job.ID, err)
		}
		job = done
		if past, err = render.ReadHistory(m.Store.Events(context.WithoutCancel(ctx), job.ID, 0, false), a.rate()); err != nil {
			return err
		}
		if job.Status == jobs.Waiting && !asJSON && a.asks() && ctx.Err() == nil {
			answered, err := a.ask(ctx, m.Store, job)
			if err != nil {
				return err
			}
			if answered {
				run = m.Resume
				continue
			}
		}
		if !asJSON {
			if err := a.standing(ctx, job.ID, false, time.Since(start)); err != nil {
				return err
			}
		}
		return exit.With(exit.OfJob(ctx, job.Status))
	}
}

// watch shows what happens during one run. The function it returns ends that
// and waits.
func (a *app) watch(ctx context.Context, log jobs.Store, id string, past *render.History, asJSON bool, o *jobs.RunOptions) func() {
	if !asJSON {
		v := render.NewViewer(a.screen(), *past)
		o.Emit = v.Sink
		if !a.asks() {
			return v.Close
		}
		leave := a.front.meet(func(ask func()) {
			v.Interrupt(ask)
		})
		return func() { leave(); v.Close() }
	}
	// The log rather than the live events: those have no numbers, and a
	// reader of --json must be able to say how far it got.
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	var follower sync.WaitGroup
	last := past.Last
	follower.Go(func() {
		for ev, err := range log.Events(ctx, id, last, true) {
			if err != nil {
				return
			}
			last = ev.Seq
			render.Event(a.Stdout, ev)
		}
	})
	return func() {
		stop()
		follower.Wait()
		// What was settled while the follower looked elsewhere.
		for ev, err := range log.Events(context.WithoutCancel(ctx), id, last, false) {
			if err != nil {
				return
			}
			render.Event(a.Stdout, ev)
		}
	}
}

// runFault explains why a job could not be run here.
func (a *app) runFault(id string, err error) error {
	held := new(jobs.HeldError)
	switch {
	case errors.As(err, &held) && held.Stopped:
		return exit.Fail(err, fmt.Sprintf("kill -CONT %d lets it go on (fg, if it was stopped with Ctrl-Z)\nkill -KILL %d ends it; then adroit jobs resume %s goes on with the job here", held.PID, held.PID, id))
	case errors.Is(err, jobs.ErrHeld), errors.Is(err, jobs.ErrLeaseLost):
		return exit.Fail(err, fmt.Sprintf("adroit jobs logs %s -f follows it; adroit jobs cancel %s stops it", id, id))
	case errors.Is(err, jobs.ErrBlocked):
		return exit.Fail(err, fmt.Sprintf("adroit jobs show %s says why; adroit jobs resume %s tries once more", id, id))
	case errors.Is(err, jobs.ErrFinal):
		return &exit.Error{Code: exit.Usage, Err: err, Hint: fmt.Sprintf("adroit jobs retry %s runs it again from the start", id)}
	}
	return err
}

// detail is what is known of a job, with what can be done next unless the job is
// thrown away at the end.
func (a *app) detail(ctx context.Context, id string) (*adroit.JobDetail, error) {
	c, err := a.client()
	if err != nil {
		return nil, err
	}
	d, err := c.Job(context.WithoutCancel(ctx), id)
	if err == nil && a.passing {
		d.Actions = nil
	}
	return d, err
}

// standing prints how a job stands now: its last event, or the same in words.
func (a *app) standing(ctx context.Context, id string, asJSON bool, took time.Duration) error {
	d, err := a.detail(ctx, id)
	if err != nil {
		return err
	}
	if asJSON {
		render.Event(a.Stdout, render.LastEvent(d, a.now()))
	} else {
		render.Outcome(a.screen(), a.Stdout, d, took)
	}
	return nil
}

// pending is the question a job waits with, nil if there is none.
func pending(ctx context.Context, store jobs.Store, id string) (*jobs.Question, error) {
	qs, err := jobs.Pending(ctx, store, id)
	if err != nil || len(qs) == 0 {
		return nil, err
	}
	return &qs[0], nil
}

// send answers a question under the name it listens to.
func send(ctx context.Context, store jobs.Store, id, signal string, value json.RawMessage) error {
	return store.Send(ctx, id, flow.Signal{Name: signal, Value: value})
}
