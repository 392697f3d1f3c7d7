package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/workspace"
)

// drive runs a job in the foreground until it ends, waits for a person who is
// not here, or is stopped, and tells how it went. With asJSON, stdout carries
// the job's events and nothing else.
func (a *app) drive(ctx context.Context, m *jobs.Manager, job *jobs.Job, asJSON bool) error {
	return a.driveOn(ctx, m, job, executor.Limits{}, asJSON)
}

// driveOn is drive for a job that goes on with other limits than those that
// stopped it.
func (a *app) driveOn(ctx context.Context, m *jobs.Manager, job *jobs.Job, more executor.Limits, asJSON bool) error {
	past, err := read(context.WithoutCancel(ctx), m.Store, job.ID, a.rate())
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
			return usage(raiseHint(job), "%s was stopped by a limit that %s does not raise: %s", job.ID, more, job.Reason)
		}
		if err != nil {
			return a.runFault(job.ID, err)
		}
		job = done
		if past, err = read(context.WithoutCancel(ctx), m.Store, job.ID, a.rate()); err != nil {
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
			a.tell(job, past, time.Since(start))
		}
		return exit(a.outcome(ctx, job))
	}
}

// watch shows what happens during one run. The function it returns ends that
// and waits.
func (a *app) watch(ctx context.Context, log jobs.Store, id string, past *history, asJSON bool, o *jobs.RunOptions) func() {
	if !asJSON {
		v := a.view(*past)
		o.Emit = v.sink
		if !a.asks() {
			return v.close
		}
		leave := a.front.meet(func(ask func()) {
			v.pause(func() { v.drain(); v.clear(); ask() })
		})
		return func() { leave(); v.close() }
	}
	// The log rather than the live events: those have no numbers, and a
	// reader of --json must be able to say how far it got.
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	var follower sync.WaitGroup
	last := past.last
	follower.Go(func() {
		for ev, err := range log.Events(ctx, id, last, true) {
			if err != nil {
				return
			}
			last = ev.Seq
			writeEvent(a.Stdout, ev)
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
			writeEvent(a.Stdout, ev)
		}
	}
}

func writeEvent(w io.Writer, ev event.Event) {
	b, err := json.Marshal(ev)
	if err != nil {
		return // an event that came out of the log went in as JSON
	}
	fmt.Fprintf(w, "%s\n", b)
}

// runFault explains why a job could not be run here.
func (a *app) runFault(id string, err error) error {
	held := new(jobs.HeldError)
	switch {
	case errors.As(err, &held) && held.Stopped:
		return broken(err, fmt.Sprintf("kill -CONT %d lets it go on (fg, if it was stopped with Ctrl-Z)\nkill -KILL %d ends it; then adroit jobs resume %s goes on with the job here", held.PID, held.PID, id))
	case errors.Is(err, jobs.ErrHeld), errors.Is(err, jobs.ErrLeaseLost):
		return broken(err, fmt.Sprintf("adroit jobs logs %s -f follows it; adroit jobs cancel %s stops it", id, id))
	case errors.Is(err, jobs.ErrBlocked):
		return broken(err, fmt.Sprintf("adroit jobs show %s says why; adroit jobs resume %s tries once more", id, id))
	case errors.Is(err, jobs.ErrFinal):
		return &fault{exitUsage, err, fmt.Sprintf("adroit jobs retry %s runs it again from the start", id)}
	}
	return err
}

// outcome is the exit code for how a job stands.
func (a *app) outcome(ctx context.Context, job *jobs.Job) int {
	switch job.Status {
	case jobs.Done:
		return exitDone
	case jobs.Limit, jobs.Stuck:
		return exitLimit
	case jobs.Waiting:
		return exitWaiting
	case jobs.Cancelled:
		return exitCancelled
	}
	var s *stopError
	if errors.As(context.Cause(ctx), &s) {
		return code(s.signal)
	}
	return exitFailed
}

// tell says how a run went: the reason and the figures to stderr, the model's
// last words to stdout.
func (a *app) tell(job *jobs.Job, past history, took time.Duration) {
	s := a.screen()
	f := past.final
	if f == nil {
		f = &jobs.Final{Status: job.Status, Reason: job.Reason}
	}
	for _, l := range a.verdict(job, f) {
		fmt.Fprintln(s, s.paint(statusStyle(job.Status), lines(l)))
	}
	for _, m := range a.missing(job) {
		fmt.Fprintln(s, s.paint(red, line("incomplete: "+m)))
	}
	if figures := a.figures(job, f, took); figures != "" {
		fmt.Fprintln(s, strings.Join(append([]string{figures}, a.next(job)...), "    "))
	} else if next := a.next(job); len(next) > 0 {
		fmt.Fprintln(s, strings.Join(next, "    "))
	}
	if text := strings.TrimSpace(f.Summary); text != "" && job.Status.Final() {
		fmt.Fprintln(a.Stdout, lines(text))
	}
}

func statusStyle(s jobs.Status) string {
	switch s {
	case jobs.Failed, jobs.Blocked, jobs.Stuck, jobs.Limit:
		return red
	}
	return bold
}

// verdict is why a job stopped: the first line says it, the others what is
// missing.
func (a *app) verdict(job *jobs.Job, f *jobs.Final) []string {
	in := ""
	if f.Turns > 0 {
		in = " in " + plural(f.Turns, "turn")
	}
	switch job.Status {
	case jobs.Done:
		return []string{strings.TrimSuffix(fmt.Sprintf("done%s: %s", in, job.Reason), ": ")}
	case jobs.Waiting:
		return []string{"waiting for a person: " + question(f.Waiting)}
	case jobs.Interrupted:
		return []string{"interrupted: " + strings.TrimPrefix(job.Reason, "interrupted: ") + "; nothing that was finished is lost"}
	case jobs.Cancelled:
		return []string{"cancelled" + in}
	}
	out := []string{fmt.Sprintf("%s%s: %s", job.Status, in, job.Reason)}
	for _, u := range f.Unmet {
		out = append(out, "  not met: "+u)
	}
	return out
}

func (a *app) figures(job *jobs.Job, f *jobs.Final, took time.Duration) string {
	if f.Usage.In+f.Usage.Out == 0 {
		return ""
	}
	s := count(f.Usage.In) + " tokens in"
	if f.Usage.Cached > 0 {
		s += fmt.Sprintf(" (%s cached)", count(f.Usage.Cached))
	}
	s += fmt.Sprintf(", %s out", count(f.Usage.Out))
	if usd := a.cost(job.Model, f); usd > 0 {
		s += fmt.Sprintf(", %.4f USD", usd)
	}
	return s + ", " + span(took)
}

// changed reports whether a job changed files.
func (a *app) changed(id string) bool {
	home, err := a.jobDir(id)
	return err == nil && workspace.Recorded(filepath.Join(home, "ledger"))
}

// next are the commands that make sense now.
func (a *app) next(job *jobs.Job) []string {
	id := job.ID
	if a.passing {
		return nil
	}
	var changes []string // what one may do about them
	if a.changed(id) {
		changes = []string{"adroit jobs diff " + id, "adroit jobs undo " + id}
	}
	switch job.Status {
	case jobs.Done:
		if changes == nil {
			return []string{"adroit jobs logs " + id}
		}
		return changes
	case jobs.Limit:
		return append([]string{"adroit jobs resume " + id + " " + raising(job)}, changes...)
	case jobs.Cancelled:
		return append(changes, "adroit jobs retry "+id)
	case jobs.Failed, jobs.Stuck:
		return append([]string{"adroit jobs resume " + id}, changes[:min(1, len(changes))]...)
	case jobs.Waiting:
		if s := a.awaited(id); s != "" {
			return []string{"adroit signal " + id + " " + s, "adroit jobs resume " + id}
		}
		return []string{"adroit jobs resume " + id}
	case jobs.Interrupted, jobs.Blocked, jobs.Queued:
		return append([]string{"adroit jobs resume " + id}, changes...)
	case jobs.Running:
		return []string{"adroit jobs logs " + id + " -f"}
	}
	return nil
}

// raising is the flag that raises the limit which stopped a job.
func raising(job *jobs.Job) string {
	var s struct{ Outcome struct{ Limit string } }
	_ = json.Unmarshal(job.Output, &s) // a job without an outcome names none
	switch s.Outcome.Limit {
	case "tokens":
		return "--max-tokens N"
	case "cost":
		return "--max-cost USD"
	case "time":
		return "--timeout DURATION"
	}
	return "--max-turns N"
}

// awaited is the signal that a waiting job most likely gets; "" if it has its
// answer and only has to go on.
func (a *app) awaited(id string) string {
	if a.db != nil {
		switch q, err := pending(context.Background(), a.db, id); {
		case err != nil:
		case q == nil:
			return ""
		case about(q) == nil && len(q.Signals) > 0:
			return bare(q.Signals[0])
		}
	}
	return "approve"
}

// readable is JSON as a person would write it: < and > for themselves.
func readable(raw json.RawMessage) string {
	var v any
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if dec.Decode(&v) != nil {
		return string(raw)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return string(raw)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// bare is the name of a signal without the step it is for.
func bare(signal string) string {
	name, _, _ := strings.Cut(signal, "@")
	return name
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
