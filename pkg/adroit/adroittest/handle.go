package adroittest

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// One handle leads a job over its question to its end: one stream of events, and an answer
// to this question alone.
func testHandle(t *testing.T, f *fixture) {
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	r := f.request(executor.ApproveAsk)
	r.Key = "handle"
	job, err := adroit.Start(ctx, f, r)
	must(t, err)
	var last []string
	answered := false
	for ev, err := range job.Events(ctx, adroit.EventOptions{Follow: true}) {
		must(t, err)
		if ev.Seq != int64(len(last)+1) {
			t.Fatalf("event %d has number %d", len(last), ev.Seq)
		}
		if last = append(last, string(ev.Kind)); ev.Kind == event.JobWaiting {
			answered = true
			f.answer(t, job)
		}
	}
	if !answered || last[len(last)-1] != string(event.JobFinished) {
		t.Fatalf("the stream has %q", last)
	}
	again, err := adroit.Start(ctx, f, r)
	must(t, err)
	if s, err := again.Wait(ctx); err != nil || s.Last != "Written." || again.ID() != job.ID() {
		t.Errorf("by its key: %v, %+v", err, s)
	}
	u, err := job.Undo(ctx, adroit.Selection{})
	must(t, err)
	if _, err := os.Stat(filepath.Join(f.dir, "out.txt")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after undo of %+v: %v", u, err)
	}
	kind(t, job.Cancel(ctx), "ended")
}

// answer approves what a job asks, and tries what must not hold first.
func (f *fixture) answer(t *testing.T, job *adroit.Job) {
	t.Helper()
	ctx := t.Context()
	qs, err := job.Questions(ctx)
	must(t, err)
	if len(qs) != 1 {
		t.Fatalf("it asks %+v", qs)
	}
	elsewhere, other := qs[0], qs[0]
	elsewhere.Path, other.About = "9.9", json.RawMessage(strings.Replace(string(qs[0].About), "out.txt", "other.txt", -1))
	for _, q := range []jobs.Question{elsewhere, other} {
		if err := job.Approve(ctx, q); !errors.Is(err, jobs.ErrAnswered) {
			t.Fatalf("an answer to %s about %s: %v", q.Path, q.About, err)
		}
	}
	if err := job.Answer(ctx, qs[0], "yes"); err == nil {
		t.Error("a call is approved by an answer")
	}
	found, err := adroit.Find(ctx, f, job.ID())
	must(t, err)
	again := qs[0] // as a client in another language sends back what it has read
	var about map[string]any
	must(t, json.Unmarshal(again.About, &about))
	again.About, err = json.MarshalIndent(about, "", " ")
	must(t, err)
	must(t, found.Approve(ctx, again))
	if err := job.Deny(ctx, qs[0], "too late"); !errors.Is(err, jobs.ErrAnswered) && !(f.goesOn && errors.Is(err, jobs.ErrFinal)) {
		t.Errorf("a second answer: %v", err)
	}
	if f.goesOn {
		return
	}
	_, err = job.Wait(ctx)
	if e := new(adroit.StatusError); !errors.As(err, &e) || e.Job.Status != jobs.Waiting {
		t.Fatalf("it waits with %v", err)
	}
	_, err = found.Start(ctx, adroit.StartOptions{})
	must(t, err)
}

// The end of its context interrupts what Run runs, and says so.
func testRunInterrupted(t *testing.T, f *fixture) {
	ctx, stop := context.WithCancelCause(t.Context())
	go func() { <-f.slow; stop(context.DeadlineExceeded) }()
	_, err := adroit.Run(ctx, f, f.waiting())
	e := new(adroit.StatusError)
	if !errors.As(err, &e) || e.Job.Status != jobs.Interrupted || !errors.Is(err, jobs.ErrStopped) || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "the caller's time is over") {
		t.Fatalf("it ends with %v", err)
	}
	job, err := adroit.Find(t.Context(), f, e.Job.ID)
	must(t, err)
	close(f.release)
	_, err = job.Start(t.Context(), adroit.StartOptions{})
	must(t, err)
	if s, err := job.Wait(t.Context()); err != nil || s.Last != "Done." {
		t.Errorf("it goes on to %+v, %v", s, err)
	}
}
