package adroittest

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/llm"
)

// patience is a deadline for what has to happen, on a machine under load and through a cluster, too.
const patience = 10 * time.Minute

// A job that runs is refused a second runner, and ends when it is cancelled.
func testCancel(t *testing.T, f *fixture) {
	s, err := f.Submit(t.Context(), f.waiting())
	must(t, err)
	ctx, stop := context.WithCancel(t.Context())
	started, err := f.Start(ctx, s.Job.ID, adroit.StartOptions{})
	must(t, err)
	if started.Sandbox == "" || len(started.Others) > 0 {
		t.Errorf("%+v", started)
	}
	stop() // the job outlives its starter
	<-f.slow
	d, err := f.Job(t.Context(), s.Job.ID)
	must(t, err)
	if d.Job.Status != jobs.Running || len(d.Actions) != 1 || !d.Actions[0].Follow {
		t.Errorf("%s, %+v", d.Job.Status, d.Actions)
	}
	_, err = f.Start(t.Context(), s.Job.ID, adroit.StartOptions{})
	kind(t, err, problem.Held)
	_, err = f.Undo(t.Context(), s.Job.ID, adroit.Selection{})
	kind(t, err, problem.Running)
	following := make(chan error, 1)
	go func() {
		var last event.Event
		for ev, err := range f.Events(context.Background(), s.Job.ID, adroit.EventOptions{Follow: true}) {
			if err != nil {
				following <- err
				return
			}
			last = ev
		}
		if last.Kind != event.JobFinished {
			following <- errors.New("the stream ended with " + string(last.Kind))
			return
		}
		following <- nil
	}()
	j, err := f.Cancel(t.Context(), s.Job.ID)
	must(t, err)
	if j.Status != jobs.Cancelled {
		t.Errorf("%s", j.Status)
	}
	select {
	case err := <-following:
		must(t, err)
	case <-time.After(patience):
		t.Error("the stream does not end with the job")
	}
}

// A job that is stopped is interrupted and goes on later; another job in its
// directory is named.
func testStop(t *testing.T, f *fixture) {
	s, err := f.Submit(t.Context(), f.waiting())
	must(t, err)
	if j, err := f.Stop(t.Context(), s.Job.ID, ""); err != nil || j.Status != jobs.Queued {
		t.Fatalf("a job that does not run: %v, %+v", err, j)
	}
	f.start(t, s.Job.ID)
	<-f.slow
	other, err := f.Submit(t.Context(), f.request(executor.ApproveAll))
	must(t, err)
	beside, err := f.Start(t.Context(), other.Job.ID, adroit.StartOptions{DryRun: true})
	must(t, err)
	if len(beside.Others) != 1 || beside.Others[0] != s.Job.ID {
		t.Errorf("%+v", beside)
	}
	j, err := f.Stop(t.Context(), s.Job.ID, "the test stops it")
	must(t, err)
	if j.Status != jobs.Interrupted || j.Reason != "the test stops it" {
		t.Fatalf("%s: %s", j.Status, j.Reason)
	}
	close(f.release)
	f.start(t, s.Job.ID)
	if j, err = f.Wait(t.Context(), s.Job.ID); err != nil || j.Status != jobs.Done {
		t.Fatalf("%v, %+v", err, j)
	}
	if d, err := f.Job(t.Context(), other.Job.ID); err != nil || d.Job.Status != jobs.Queued {
		t.Errorf("a dry run has started the job: %v, %+v", err, d)
	}
}

// A job above the bound is queued, is seen there, and leaves the queue by a place, a
// stop or a cancel.
func testQueue(t *testing.T, f *fixture) {
	add := func() string {
		s, err := f.Submit(t.Context(), f.waiting())
		must(t, err)
		return s.Job.ID
	}
	start := func(id string, want int) {
		t.Helper()
		s, err := f.Start(t.Context(), id, adroit.StartOptions{AtOnce: 1})
		must(t, err)
		if s.Queue != want {
			t.Fatalf("the job is started at position %d, want %d", s.Queue, want)
		}
	}
	first, second, third := add(), add(), add()
	if _, err := f.Start(t.Context(), first, adroit.StartOptions{AtOnce: -1}); problem.AsError(err).Kind != problem.Invalid {
		t.Errorf("a bound below zero: %v", err)
	}
	start(first, 0)
	<-f.slow
	start(third, 1)
	start(second, 1) // it is older
	d, err := f.Job(t.Context(), third)
	must(t, err)
	if d.Job.Status != jobs.Queued || d.Queue != 2 || len(d.Actions) == 0 || d.Actions[0].Do != "logs" {
		t.Errorf("%+v", d)
	}
	if list, err := f.Jobs(t.Context(), adroit.ListOptions{Status: []jobs.Status{jobs.Queued}}); err != nil || len(list) != 2 || list[0].Queue != 2 || list[1].Queue != 1 {
		t.Errorf("%v, %+v", err, list)
	}
	if _, err := f.Start(t.Context(), third, adroit.StartOptions{}); !errors.Is(err, jobs.ErrHeld) {
		t.Errorf("a second start of a job in the queue: %v", err)
	}
	j, err := f.Stop(t.Context(), second, "not now")
	if err != nil || j.Status != jobs.Interrupted || j.Reason != "not now" {
		t.Errorf("%v, %+v", err, j)
	}
	if j, err = f.Cancel(t.Context(), third); err != nil || j.Status != jobs.Cancelled {
		t.Errorf("%v, %+v", err, j)
	}
	start(second, 1)
	close(f.release)
	if j, err = f.Wait(t.Context(), second); err != nil || j.Status != jobs.Done {
		t.Errorf("%v, %+v", err, j)
	}
	kinds := []event.Kind{}
	for ev, err := range f.Events(t.Context(), third, adroit.EventOptions{}) {
		must(t, err)
		kinds = append(kinds, ev.Kind)
	}
	if !slices.Contains(kinds, event.JobQueued) || !slices.Contains(kinds, event.Answer) || kinds[len(kinds)-1] != event.JobFinished {
		t.Errorf("the cancelled job has the events %v", kinds)
	}
}

// A live follower gets pieces of answers, which have no number, between
// the numbered events, none of which is missing.
func testLive(t *testing.T, f *fixture) {
	s, err := f.Submit(t.Context(), f.waiting())
	must(t, err)
	f.start(t, s.Job.ID)
	<-f.slow
	text, last := "", int64(0)
	for ev, err := range f.Events(t.Context(), s.Job.ID, adroit.EventOptions{Follow: true, Live: true}) {
		must(t, err)
		switch {
		case ev.Kind == event.Delta && (ev.Seq != 0 || ev.Job != s.Job.ID):
			t.Errorf("a piece is %+v", ev)
		case ev.Kind == event.Delta:
			text += ev.Text
		case ev.Seq != last+1:
			t.Fatalf("%d follows %d", ev.Seq, last)
		default:
			if last = ev.Seq; last == 1 {
				close(f.release)
			}
		}
	}
	if text != "Done." {
		t.Errorf("the pieces are %q", text)
	}
}

// A live follower who starts the job gets all pieces however soon the run has ended,
// those of a step between its start and its end. There is one such follower; who
// comes later gets what is kept.
func testLiveFromStart(t *testing.T, f *fixture) {
	s, err := f.Submit(t.Context(), f.request(executor.ApproveAll))
	must(t, err)
	_, err = f.Start(t.Context(), s.Job.ID, adroit.StartOptions{Live: true})
	must(t, err)
	_, err = f.Wait(t.Context(), s.Job.ID)
	must(t, err)
	for _, want := range []string{"Written.", ""} {
		text, open := "", map[string]bool{}
		for ev, err := range f.Events(t.Context(), s.Job.ID, adroit.EventOptions{Follow: true, Live: true}) {
			must(t, err)
			switch ev.Kind {
			case event.StepStarted:
				open[ev.Path] = true
			case event.StepFinished:
				delete(open, ev.Path)
			case event.Delta:
				if text += ev.Text; !open[ev.Path] {
					t.Errorf("the piece %q of step %s is not between its start and its end", ev.Text, ev.Path)
				}
			}
		}
		if text != want {
			t.Errorf("the pieces are %q, not %q", text, want)
		}
	}
}

// A limit that stopped a job has to be raised, and no other.
func testLimits(t *testing.T, f *fixture) {
	r := f.request(executor.ApproveAll)
	r.Limits.Turns = 1
	j := f.run(t, r)
	if j.Status != jobs.Limit {
		t.Fatalf("%s: %s", j.Status, j.Reason)
	}
	for want, given := range map[string]executor.Limits{"stopped by a limit": {}, "negative": {Turns: -1}, "no number": {CostUSD: math.NaN()}, "price": {CostUSD: 1}} {
		_, err := f.Start(t.Context(), j.ID, adroit.StartOptions{Limits: given, DryRun: true})
		if e := kind(t, err, problem.Invalid); !strings.Contains(e.Message, want) || e.Hint == "" {
			t.Errorf("%+v: %+v", given, e)
		}
	}
	_, err := f.Start(t.Context(), j.ID, adroit.StartOptions{Limits: executor.Limits{Turns: 9}})
	must(t, err)
	if j, err = f.Wait(t.Context(), j.ID); err != nil || j.Status != jobs.Done {
		t.Errorf("%v, %+v", err, j)
	}
}

// A transcript has each request with what was new in it, and each response.
func testTranscript(t *testing.T, f *fixture) {
	_, err := f.Transcript(t.Context(), "nobody")
	kind(t, err, problem.NotFound)
	j := f.run(t, f.request(executor.ApproveAll))
	got, err := f.Transcript(t.Context(), j.ID)
	must(t, err)
	if got.Job != j.ID || len(got.Turns) != 2 {
		t.Fatalf("%+v", got)
	}
	first, second := got.Turns[0], got.Turns[1]
	if first.Turn != 1 || first.After != 0 || first.Model != "script/turns" || len(first.Tools) != 1 || first.Response == nil || first.Response.Calls[0].Name != "write_file" {
		t.Errorf("%+v", first)
	}
	if last := first.New[len(first.New)-1]; last.Role != llm.User || !strings.Contains(last.Text, "Please.") {
		t.Errorf("%+v", first.New)
	}
	if second.After != 1 || len(second.New) != 1 || second.New[0].Role != llm.Tool || second.Response == nil || second.Response.Text != "Written." {
		t.Errorf("%+v", second)
	}
	whole := got.Request(2)
	if n := len(first.New); len(whole.Messages) != n+2 || len(whole.Tools) != 1 || whole.Messages[n].Calls == nil || got.Request(3) != nil {
		t.Errorf("%+v", whole)
	}
}
