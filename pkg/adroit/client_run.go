package adroit

import (
	"context"
	"errors"
	"fmt"

	"github.com/adroit-run/adroit/internal/host/jobdir"
	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/system/exhaustion"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/work/sandbox"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/workflows/pipeline"
)

// Start implements [JobWriter].
func (rt *Runtime) Start(ctx context.Context, ref string, o StartOptions) (*Started, error) {
	s, _, err := rt.startRun(ctx, ref, o)
	return s, err
}

// maxRefusals bounds the jobs of which a runtime remembers why they did not start.
const maxRefusals = 1000

// refusal remembers why a job did not start, or that it did. A job that is held has started elsewhere.
func (rt *Runtime) refusal(id string, err error) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if err == nil || errors.Is(err, jobs.ErrHeld) || errors.Is(err, context.Canceled) {
		delete(rt.refusals, id)
		return
	}
	if rt.refusals == nil || len(rt.refusals) >= maxRefusals {
		rt.refusals = map[string]*problem.Error{}
	}
	rt.refusals[id] = problem.AsError(err)
}

// startRun starts a job. The run is nil if there is none to begin.
func (rt *Runtime) startRun(ctx context.Context, ref string, o StartOptions) (*Started, *jobRun, error) {
	if err := rt.may(ctx, ScopeRun); err != nil {
		return nil, nil, err
	}
	j, m, err := rt.find(ctx, ref)
	if err != nil {
		return nil, nil, problem.AsError(err)
	}
	s, run, err := rt.startFound(ctx, m, j, o)
	if !o.DryRun {
		rt.refusal(j.ID, err)
	}
	return s, run, err
}

// startFound starts a job that was found.
func (rt *Runtime) startFound(ctx context.Context, m *jobs.Manager, j *jobs.Job, o StartOptions) (*Started, *jobRun, error) {
	away, err := rt.elsewhere(j)
	if err != nil {
		return nil, nil, problem.AsError(err)
	}
	if err := rt.startable(j, o); err != nil {
		if j.Key != "" && errors.Is(err, jobs.ErrFinal) {
			return rt.started(ctx, m, j), nil, nil // what has a key is asked for again and again, and done once
		}
		return nil, nil, problem.AsError(err)
	}
	if err := rt.unusableTree(j); err != nil {
		return nil, nil, problem.AsError(err)
	}
	if o.DryRun {
		return rt.started(ctx, m, j), nil, nil
	}
	var run *jobRun
	if away != nil {
		err = rt.startElsewhere(ctx, m, j, away, o)
	} else {
		if err = rt.reportLost(ctx, m, j); err == nil {
			run, err = rt.begin(m, j, o)
		}
		if err != nil {
			return nil, nil, problem.AsError(err)
		}
		err = run.wait(ctx, run.claimed)
	}
	if err != nil {
		if errors.Is(err, jobs.ErrFinal) && j.Status == jobs.Limit {
			return nil, nil, problem.Invalidf(raiseHint(j), "%s was stopped by a limit that %s does not raise: %s", j.ID, o.Limits, j.Reason)
		}
		return nil, nil, fault(j.ID, err)
	}
	s := rt.started(ctx, m, j)
	if s.Queue, err = rt.queue(ctx, m.Store, j.ID); err != nil {
		return nil, nil, problem.AsError(err)
	}
	return s, run, nil
}

// startable refuses a job that cannot be started, and options that would change
// nothing.
func (rt *Runtime) startable(j *jobs.Job, o StartOptions) error {
	more := o.Limits
	given := more.String() != ""
	switch {
	case o.AtOnce < 0:
		return problem.Invalidf("leave it out to keep the configured bound", "the number of jobs at once is negative")
	case held(j):
		return fault(j.ID, fmt.Errorf("%s: %w", j.ID, jobs.ErrHeld))
	case badLimit(more) != "":
		return problem.Invalidf("leave it out to keep the limit", "%s", badLimit(more))
	case j.Status.Succeeded() || j.Status == jobs.Cancelled:
		return fault(j.ID, fmt.Errorf("%s: %w: %s", j.ID, jobs.ErrFinal, j.Status))
	case capped(j):
		return problem.Invalidf(hint.Command("jobs retry %s", j.ID)+" runs the pipeline from the start", "%s ended at a bound of its pipeline, which nothing raises: %s", j.ID, j.Reason)
	case j.Status == jobs.Limit && !given:
		return problem.Invalidf(raiseHint(j), "%s was stopped by a limit: %s", j.ID, j.Reason)
	case given && !j.Status.Halted():
		return problem.Invalidf(hint.Command("continue %s", j.ID)+" goes on with it within the limits it has", "%s is %s: no limit has stopped it", j.ID, j.Status)
	}
	if more.CostUSD > 0 && j.Model != pipeline.NoModel {
		if _, ok := rt.o.Defaults.Prices.Of(j.Model); !ok {
			e := &agents.PriceError{USD: more.CostUSD, Models: []string{j.Model}}
			return problem.Refuse(e, priceHint(e))
		}
	}
	return nil
}

// raiseHint names the command that raises the limit by which a job was stopped.
func raiseHint(j *jobs.Job) string {
	resume := hint.Command("continue %s --max-turns N", j.ID)
	switch outcomeOf(j).Limit {
	case "tokens":
		resume = hint.Command("continue %s --max-tokens N", j.ID)
	case "cost":
		resume = hint.Command("continue %s --max-cost USD", j.ID)
	case "time":
		resume = hint.Command("continue %s --timeout DURATION", j.ID)
	}
	return fmt.Sprintf("%s goes on with a higher limit\n%s runs it again from the start", resume, hint.Command("jobs retry %s", j.ID))
}

// fault explains why a job could not be run here.
func fault(id string, err error) error {
	held := new(jobdir.HeldError)
	switch {
	case errors.As(err, &held) && held.Stopped:
		return problem.WithHint(err, fmt.Sprintf("kill -CONT %d lets it go on (fg, if it was stopped with Ctrl-Z)\nkill -KILL %d ends it; then %s goes on with the job here", held.PID, held.PID, hint.Command("continue %s", id)))
	case errors.Is(err, jobs.ErrHeld), errors.Is(err, jobs.ErrLeaseLost):
		return problem.WithHint(err, fmt.Sprintf("%s follows it; %s stops it", hint.Command("jobs logs %s -f", id), hint.Command("jobs cancel %s", id)))
	case errors.Is(err, jobs.ErrBlocked):
		return problem.WithHint(err, fmt.Sprintf("%s says why; %s tries once more", hint.Command("jobs show %s", id), hint.Command("continue %s", id)))
	case errors.Is(err, jobs.ErrFinal):
		return problem.WithHint(err, fmt.Sprintf("%s runs it again from the start", hint.Command("jobs retry %s", id)))
	}
	return problem.AsError(err)
}

// started describes where a job runs here.
func (rt *Runtime) started(ctx context.Context, m *jobs.Manager, j *jobs.Job) *Started {
	s := &Started{Job: j, Sandbox: "unknown"}
	s.Config, s.Worktree = rt.config(j), rt.worktree(j)
	if !rt.jobOpens(ctx, j, s.Config) {
		s.Sandbox = "unused"
		return s
	}
	s.Sandbox = rt.sandboxLevel(s.Config)
	all, err := m.Store.List(ctx, jobs.Query{Status: []jobs.Status{jobs.Running}, Brief: true})
	if err != nil {
		return s // the run reports what is wrong with the store
	}
	for _, o := range all {
		if o.ID != j.ID && overlap(o.Dir, j.Dir) {
			s.Others = append(s.Others, o.ID)
		}
	}
	return s
}

// sandboxLevel describes the level at which the commands of a job are confined
// here.
func (rt *Runtime) sandboxLevel(c JobConfig) string {
	level := rt.o.Sandbox.Level
	if c.Sandbox != "" {
		var err error
		if level, err = sandbox.Parse(string(c.Sandbox)); err != nil {
			return "unknown"
		}
	}
	r := sandbox.Choose(level)
	switch {
	case exhaustion.Of(r.Err()) != "":
		return "unknown" // yet
	case r.Err() != nil:
		return "refused"
	case r.Level != sandbox.Off && rt.o.Sandbox.NetOpen:
		return string(r.Level) + " (network open)"
	}
	return string(r.Level)
}

// A stopReason is somebody's reason to stop a job.
type stopReason string

func (r stopReason) Error() string { return string(r) }
func (stopReason) Unwrap() error   { return jobs.ErrStopped }

// Stop implements [JobWriter].
func (rt *Runtime) Stop(ctx context.Context, ref, reason string) (*jobs.Job, error) {
	j, m, err := rt.findFor(ctx, ScopeRun, ref)
	if err != nil {
		return nil, err
	}
	away, err := rt.elsewhere(j)
	if err != nil {
		return nil, problem.AsError(err)
	}
	if away != nil {
		if !held(j) && j.Status != jobs.Interrupted {
			return j, nil
		}
		if err := away.Stop(ctx, j.ID, reason); err != nil {
			return nil, problem.AsError(err)
		}
		j, err = m.Wait(ctx, j.ID)
		return j, asError(err)
	}
	run := rt.runHere(j.ID)
	switch {
	case run == nil && held(j):
		err := fmt.Errorf("%s: %w (%s)", j.ID, jobs.ErrHeld, j.Lease.Owner)
		return nil, problem.WithHint(err, "interrupt that process, host:pid, with Ctrl-C or SIGINT; "+hint.Command("jobs cancel %s", j.ID)+" ends the job for good")
	case run != nil && reason != "":
		run.stop(stopReason(reason))
	case run != nil:
		run.stop(jobs.ErrStopped)
	}
	if run == nil {
		return j, nil
	}
	return rt.Wait(ctx, j.ID)
}

// Wait implements [JobReader].
func (rt *Runtime) Wait(ctx context.Context, ref string) (*jobs.Job, error) {
	j, m, err := rt.findFor(ctx, ScopeRead, ref)
	if err != nil {
		return nil, err
	}
	if run := rt.runHere(j.ID); run != nil {
		if err := run.wait(ctx, nil); err != nil {
			rt.forgetRun(run)
			return nil, fault(j.ID, err)
		}
	}
	j, err = m.Wait(ctx, j.ID)
	return j, asError(err)
}
