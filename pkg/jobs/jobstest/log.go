package jobstest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// events numbers from 1 without gaps, also when many write.
func events(t *testing.T, s jobs.Store) {
	journals := map[string]claimed{}
	for _, id := range []string{"J1", "J2"} {
		add(t, s, id)
		journals[id] = hold(t, s, id, ttl)
	}
	const writers, each = 4, 10
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				id := []string{"J1", "J2"}[i%2]
				err := journals[id].Append(t.Context(), event.Event{Job: id, Kind: event.Delta, Text: "lost"},
					event.Event{Job: id, Kind: event.Note, Text: fmt.Sprintf("%d.%d", w, i)})
				if err != nil {
					t.Errorf("append: %v", err)
				}
			}
		})
	}
	wg.Wait()
	for _, id := range []string{"J1", "J2"} {
		ok(t, journals[id].Sync(t.Context()))
		evs := read(t, s, id, 0)
		if len(evs) != writers*each/2 {
			t.Fatalf("%s has %d events", id, len(evs))
		}
		seen := map[string]bool{}
		for i, ev := range evs {
			if ev.Seq != int64(i)+1 || ev.Kind != event.Note || ev.Job != id || seen[ev.Text] {
				t.Errorf("event %d of %s is %+v", i+1, id, ev)
			}
			seen[ev.Text] = true
		}
	}
	if evs := read(t, s, "J1", 18); len(evs) != 2 || evs[0].Seq != 19 {
		t.Errorf("after 18 come %+v", evs)
	}
}

// follow sees every event of a job that runs, and ends with it.
func follow(t *testing.T, s jobs.Store) {
	add(t, s, "J1")
	got := make(chan event.Event, 100)
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(got)
		for ev, err := range s.Events(t.Context(), "J1", 0, true) {
			if err != nil {
				t.Errorf("following: %v", err)
				return
			}
			got <- ev
		}
	})
	j := hold(t, s, "J1", ttl)
	for i := range 5 {
		ok(t, j.Append(t.Context(), event.Event{Job: "J1", Kind: event.Note, Text: fmt.Sprint(i)}))
		if ev := <-got; ev.Text != fmt.Sprint(i) || ev.Seq != int64(i)+1 {
			t.Fatalf("event is %+v, want number %d", ev, i+1)
		}
	}
	j.Status = jobs.Done
	ok(t, j.FinishJob(t.Context(), j.Job, &event.Event{Kind: event.JobFinished}))
	if ev := <-got; ev.Kind != event.JobFinished {
		t.Errorf("the last event is %+v", ev)
	}
	if ev, more := <-got; more {
		t.Errorf("after the last event comes %+v", ev)
	}
	wg.Wait()
}

// followAll sees the events of all jobs in one order, which a reader goes on in.
func followAll(t *testing.T, s jobs.Store) {
	list := func(after int64) (evs []event.Event) {
		for ev, err := range s.AllEvents(t.Context(), after, false) {
			if err != nil {
				t.Fatalf("all events after %d: %v", after, err)
			}
			evs = append(evs, ev)
		}
		return evs
	}
	held := map[string]claimed{}
	note := func(id string, n int) {
		ok(t, held[id].Append(t.Context(), event.Event{Job: id, Kind: event.Note, Text: fmt.Sprint(n)}, event.Event{Job: id, Kind: event.Delta}))
		ok(t, held[id].Sync(t.Context()))
	}
	for i := range 3 {
		add(t, s, fmt.Sprint("J", i))
		held[fmt.Sprint("J", i)] = hold(t, s, fmt.Sprint("J", i), ttl)
		note(fmt.Sprint("J", i), i)
	}
	before := list(0)
	if len(before) != 3 {
		t.Fatalf("%d events, want 3: %+v", len(before), before)
	}
	got := make(chan event.Event, 100)
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(got)
		for ev, err := range s.AllEvents(ctx, before[0].ID, true) {
			if err != nil {
				is(t, err, context.Canceled)
				return
			}
			got <- ev
		}
	})
	for i := range 30 {
		note(fmt.Sprint("J", i%3), 3+i)
	}
	last := before[0].ID
	for i := 1; i < 33; i++ {
		ev := <-got
		if ev.Text != fmt.Sprint(i) || ev.ID <= last || ev.Job != fmt.Sprint("J", i%3) || ev.Seq != int64(i/3)+1 {
			t.Fatalf("event %d is %+v, after %d", i, ev, last)
		}
		last = ev.ID
	}
	stop()
	wg.Wait()
	if evs := list(-2); len(evs) != 2 || evs[1].ID != last {
		t.Errorf("the last two are %+v", evs)
	}
	if evs := read(t, s, "J1", 0); len(evs) != 11 || evs[0].ID != 0 {
		t.Errorf("%d events of J1, the first %+v", len(evs), evs[0])
	}
	j := held["J2"]
	j.Status = jobs.Done
	ok(t, j.FinishJob(t.Context(), j.Job, &event.Event{Kind: event.JobFinished}))
	end := list(last)
	ok(t, s.Remove(t.Context(), "J2"))
	note("J0", 100)
	if evs := list(last); len(end) != 1 || len(evs) != 1 || evs[0].ID <= end[0].ID {
		t.Errorf("after a removal comes %+v, and %+v before", evs, end)
	}
}

// A questioner asks the questions of a job, as its workflow does, and takes the answers.
type questioner struct {
	*testing.T
	store jobs.Store
	held  claimed
}

// ask begins a step that waits for one of names.
func (q *questioner) ask(path string, names ...string) flow.Step {
	b, err := json.Marshal(flow.Wait{Signals: names, About: json.RawMessage(`"what?"`)})
	ok(q.T, err)
	step := flow.Step{Job: "J1", Path: path, Kind: flow.KindAwait, Name: names[0], Input: b, Keep: true}
	_, err = q.held.Begin(q.Context(), step, time.Time{})
	ok(q.T, err)
	return step
}

// pending checks which questions are open.
func (q *questioner) pending(want ...string) {
	q.Helper()
	found, err := jobs.Find(q.Context(), q.store, "J1")
	ok(q.T, err)
	var got []string
	for _, o := range found.Questions {
		got = append(got, o.Path)
		if string(o.About) != `"what?"` || len(o.Signals) == 0 {
			q.Errorf("question is %+v", o)
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		q.Errorf("pending are %v, want %v", got, want)
	}
}

// receive checks what s gets; "" is nothing yet.
func (q *questioner) receive(s flow.Step, want string, names ...string) {
	q.Helper()
	rec, err := q.held.Receive(q.Context(), s, names)
	ok(q.T, err)
	var sig flow.Signal
	if rec != nil {
		ok(q.T, json.Unmarshal(rec.Output, &sig))
	}
	if string(sig.Value) != want {
		q.Errorf("received %s, want %s", sig.Value, want)
	}
}

// signals are queued, consumed once and in order, and answer questions.
func signals(t *testing.T, s jobs.Store) {
	ctx := t.Context()
	add(t, s, "J1")
	ok(t, s.Send(ctx, "J1", flow.Signal{Name: "go", Value: json.RawMessage(`1`)}))
	q := &questioner{t, s, hold(t, s, "J1", ttl)}
	look, err := json.Marshal(flow.Wait{Signals: []string{"message"}, Timeout: -1})
	ok(t, err)
	_, err = q.held.Begin(ctx, flow.Step{Job: "J1", Path: "9", Kind: flow.KindAwait, Name: "message", Input: look}, time.Time{})
	ok(t, err)
	first, second := q.ask("0", "go"), q.ask("1", "approve", "deny")
	q.pending("1") // the first is answered already, and a look for messages asks nobody
	q.receive(second, "", "approve", "deny")
	q.receive(first, "1", "go")
	sent := time.Unix(7, 8).UTC()
	ok(t, s.Send(ctx, "J1", flow.Signal{Name: "deny", Value: json.RawMessage(`2`), Sent: sent}))
	ok(t, s.Send(ctx, "J1", flow.Signal{Name: "approve", Value: json.RawMessage(`3`)}))
	q.pending()
	if j, err := jobs.Find(ctx, s, "J1"); err != nil || len(j.Signals) != 2 || !j.Signals[0].Sent.Equal(sent) || j.Signals[1].Sent.IsZero() {
		t.Errorf("%+v, %v: when they were sent", j.Signals, err)
	}
	q.receive(second, "2", "approve", "deny")
	q.pending()
	q.receive(q.ask("2", "approve"), "3", "approve")
	q.receive(q.ask("3", "approve"), "", "approve")
	q.pending("3")
	oneAnswer(t, s, q)
	is(t, s.Send(ctx, "J1", flow.Signal{Name: "approve", Question: "2"}), jobs.ErrAnswered) // received
	is(t, s.Send(ctx, "J1", flow.Signal{Name: "approve", Question: "nowhere"}), jobs.ErrAnswered)
	q.pending("3")
}

// Of several answers to a question, at the same time, one is taken.
func oneAnswer(t *testing.T, s jobs.Store, q *questioner) {
	q.ask("4", "approve@4", "deny@4")
	const n = 8
	errs := make(chan error, n)
	for i := range n {
		go func() {
			name := []string{"approve@4", "deny@4"}[i%2]
			errs <- s.Send(t.Context(), "J1", flow.Signal{Name: name, Value: json.RawMessage(`4`), Question: "4"})
		}()
	}
	taken := 0
	for range n {
		if err := <-errs; err == nil {
			taken++
		} else if !errors.Is(err, jobs.ErrAnswered) {
			t.Error(err)
		}
	}
	if taken != 1 {
		t.Errorf("%d of %d answers to one question were taken", taken, n)
	}
}

// inputs are kept in the order of their steps, also once a checkpoint has forgotten
// those.
func inputs(t *testing.T, s jobs.Store) {
	add(t, s, "J1")
	add(t, s, "J2")
	j := hold(t, s, "J1", ttl)
	want := []string{`{"n":1}`, `{"n":3}`, `{"n":4}`}
	for i, keep := range []bool{true, false, true, true} {
		step := flow.Step{Job: "J1", Path: fmt.Sprint(i + 1), Kind: "k", Name: "n", Input: fmt.Appendf(nil, `{"n":%d}`, i+1), Keep: keep}
		_, err := j.Begin(t.Context(), step, time.Now().Add(time.Minute))
		ok(t, err)
		ok(t, j.Finish(t.Context(), &flow.Record{Job: "J1", Path: step.Path, Kind: step.Kind, Name: step.Name, Sum: step.Sum(), Done: true, Output: json.RawMessage(`1`)}))
	}
	for _, when := range []string{"before", "after"} {
		list, err := s.Inputs(t.Context(), "J1")
		ok(t, err)
		var got []string
		for _, in := range list {
			got = append(got, string(in))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s the checkpoint: %q, want %q", when, got, want)
		}
		ok(t, j.Save(t.Context(), "J1", "", flow.State{Next: 4, Value: json.RawMessage(`{}`)}))
		ok(t, j.Sync(t.Context()))
	}
	if list, err := s.Inputs(t.Context(), "J2"); err != nil || len(list) > 0 {
		t.Errorf("%q, %v", list, err)
	}
	_, err := s.Inputs(t.Context(), "J3")
	is(t, err, jobs.ErrNotExist)
}
