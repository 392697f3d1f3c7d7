package jobstest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// elsewhere is an engine as one in another process is: it knows outcomes and checkpoints,
// and has steps performed by a session, which it may ask twice, and which it may lose.
type elsewhere struct {
	do      func(jobs.Task) (json.RawMessage, error)
	answers map[string]string // to questions, by signal
	known   map[string]flow.Past
	states  map[string]flow.State
	before  []flow.Past
}

func (e *elsewhere) Fork(n int, branch func(int, flow.Engine)) {
	for i := range n {
		branch(i, e)
	}
}

func (e *elsewhere) Do(s flow.Step) (json.RawMessage, error) {
	switch s.Kind {
	case "checkpoint":
		var st flow.State
		if err := json.Unmarshal(s.Input, &st); err != nil {
			return nil, err
		}
		maps.DeleteFunc(e.known, func(path string, _ flow.Past) bool { return strings.HasPrefix(path, s.Path) })
		maps.DeleteFunc(e.states, func(scope string, _ flow.State) bool { return strings.HasPrefix(scope, s.Path) })
		e.states[s.Path] = st
		e.before = append(e.before, flow.Past{Step: s})
		return nil, nil
	case "restore":
		if st, ok := e.states[s.Path]; ok {
			return json.Marshal(st)
		}
		return nil, nil
	}
	p, ok := e.known[s.Path]
	if !ok {
		p = flow.Past{Step: s}
		switch s.Kind {
		case flow.KindCall, flow.Note, flow.KindSpawn, flow.Return:
			p.Output = json.RawMessage("{}")
			e.before = append(e.before, p)
		default:
			task := jobs.Task{Before: e.before, Step: s}
			e.before = nil
			out, err := e.do(task)
			step := new(flow.StepError)
			if err != nil && !errors.As(err, &step) {
				return nil, err
			}
			if p.Output = out; err != nil {
				p.Failure = &step.Failure
			}
			if s.Kind == flow.KindAwait {
				p.Output = json.RawMessage(e.answers[s.Name])
				e.before = append(e.before, p)
			}
		}
		e.known[s.Path] = p
	}
	if p.Failure != nil {
		return nil, &flow.StepError{Path: s.Path, Kind: s.Kind, Name: s.Name, Failure: *p.Failure}
	}
	return p.Output, nil
}

func newElsewhere(do func(jobs.Task) (json.RawMessage, error)) *elsewhere {
	return &elsewhere{do: do, answers: map[string]string{"go": `{"name":"go","value":"now"}`}, known: map[string]flow.Past{}, states: map[string]flow.State{}}
}

// turns is a workflow with what agents' have: parts, notes, checkpoints, a sub-agent and a question.
func turns(b *bench) flow.Workflow {
	part := flow.Define("part", b.work)
	wf := flow.Define("turns", func(r *flow.Run, n int) (int, error) {
		sum := 0
		if _, err := flow.Load(r, &sum); err != nil {
			return sum, err
		}
		for sum < n {
			v, err := flow.Do[int](r, "add", "one", 1)
			if err == nil {
				err = r.Note("turn %d", sum)
			}
			if err == nil && sum == 1 {
				_, err = flow.Await[string](r, "go", 0, "May I?")
			}
			if err == nil && sum == 2 {
				_, err = flow.Child(r, "helper", "part", 2, func(json.RawMessage, error) (string, any) { return "ended", nil })
			}
			if err != nil {
				return sum, err
			}
			if sum += v; flow.Save(r, sum) != nil {
				return sum, errors.New("no checkpoint")
			}
		}
		return sum, nil
	})
	b.Workflows = append(b.Workflows, part, wf)
	return wf
}

func eventLines(evs []event.Event) (out []string) {
	for _, ev := range evs {
		if ev.Kind == event.JobFinished {
			ev.Data = nil // has times
		}
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s %s %s %s %s %s", ev.Kind, ev.Path, ev.Step, ev.Name, ev.Text, ev.Data)))
	}
	return out
}

// attend runs one workflow here, and one elsewhere that has its steps performed here, each of
// them asked for twice: both leave the same events, and each step is performed once.
func attend(t *testing.T, b *bench) {
	wf := turns(b)
	submit := func() string {
		j, err := b.Submit(t.Context(), &jobs.Job{Workflow: wf.Name, Input: json.RawMessage("4")})
		ok(t, err)
		return j.ID
	}
	here := submit()
	ok(t, b.Store.Send(t.Context(), here, flow.Signal{Name: "go", Value: json.RawMessage(`"now"`)}))
	if j, err := b.Run(t.Context(), here, jobs.RunOptions{}); err != nil || j.Status != jobs.Done {
		t.Fatalf("%+v, %v", j, err)
	}
	performed := b.runs.Swap(0)
	there := submit()
	s, err := b.Attend(t.Context(), there, jobs.RunOptions{})
	ok(t, err)
	e := newElsewhere(func(task jobs.Task) (json.RawMessage, error) {
		var first, second json.RawMessage
		var wg sync.WaitGroup
		wg.Go(func() { second, _ = s.Do(t.Context(), task) })
		first, err := s.Do(t.Context(), task)
		wg.Wait()
		if third, _ := s.Do(t.Context(), task); string(first) != string(second) || string(first) != string(third) {
			t.Errorf("step %s is %s, then %s and %s", task.Step.Path, first, second, third)
		}
		if task.Step.Kind == flow.KindAwait {
			if j, err := jobs.Find(t.Context(), b.Store, there); err != nil || len(j.Questions) != 1 || !s.Idle() {
				t.Errorf("%+v, %v: the question is none of the job's", j, err)
			}
		}
		return first, err
	})
	out, err := wf.Run(flow.NewRun(there, e).With(b.Workflows...), json.RawMessage("4"))
	ok(t, err)
	j, err := s.End(e.before, out, jobs.Done, "")
	if err != nil || j.Status != jobs.Done || string(j.Output) != "4" || j.Lease != (jobs.Lease{}) || len(j.Questions) > 0 {
		t.Errorf("%+v, %v", j, err)
	}
	if n := b.runs.Load(); n != performed {
		t.Errorf("%d steps were performed, here %d", n, performed)
	}
	asked := func(l string) bool { return strings.HasPrefix(l, string(event.Approval)) } // here the answer was there before
	got, want := slices.DeleteFunc(eventLines(read(t, b.Store, there, 0)), asked), slices.DeleteFunc(eventLines(read(t, b.Store, here, 0)), asked)
	if !slices.Equal(got, want) {
		t.Errorf("its events are\n%s\nand here\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// attendAgain loses the session after each step, whose outcome is lost as well: another one
// recalls it, and notes and checkpoints before it have one event and one effect.
func attendAgain(t *testing.T, b *bench) {
	wf := turns(b)
	j, err := b.Submit(t.Context(), &jobs.Job{Workflow: wf.Name, Input: json.RawMessage("4")})
	ok(t, err)
	var last jobs.Status
	e := newElsewhere(func(task jobs.Task) (out json.RawMessage, err error) {
		for range 2 {
			s, err := b.Attend(t.Context(), j.ID, jobs.RunOptions{})
			ok(t, err)
			if out, err = s.Do(t.Context(), task); err != nil {
				t.Errorf("step %s: %v", task.Step.Path, err)
			}
			left, err := s.Leave(jobs.ErrStopped)
			ok(t, err)
			last = left.Status
		}
		if want := map[bool]jobs.Status{true: jobs.Waiting, false: jobs.Interrupted}[task.Step.Kind == flow.KindAwait]; last != want {
			t.Errorf("a job that was left at %s is %s, want %s", task.Step.Kind, last, want)
		}
		return out, nil
	})
	out, err := wf.Run(flow.NewRun(j.ID, e).With(b.Workflows...), json.RawMessage("4"))
	ok(t, err)
	s, err := b.Attend(t.Context(), j.ID, jobs.RunOptions{})
	ok(t, err)
	if j, err := s.End(e.before, out, jobs.Answered, "it was a question"); err != nil || j.Status != jobs.Answered || j.Reason != "it was a question" {
		t.Errorf("%+v, %v", j, err)
	}
	if n := b.runs.Load(); n != 6 {
		t.Errorf("%d steps were performed, want 6", n)
	}
	notes := map[string]int{}
	for _, ev := range read(t, b.Store, j.ID, 0) {
		if ev.Kind == event.Note || ev.Kind == event.AgentStarted || ev.Kind == event.AgentFinished || ev.Kind == event.Approval {
			notes[string(ev.Kind)+" "+ev.Path]++
		}
	}
	for what, n := range notes {
		if n != 1 {
			t.Errorf("%s has %d events", what, n)
		}
	}
	if len(notes) != 7 {
		t.Errorf("its notes are %v", notes)
	}
}

// attendIdle asks a question beside steps of another branch: the session is idle once none comes any more.
func attendIdle(t *testing.T, b *bench) {
	b.step = func(context.Context, flow.Step) (json.RawMessage, error) { return json.RawMessage("1"), nil }
	id := b.submit(t, 1)
	s, err := b.Attend(t.Context(), id, jobs.RunOptions{})
	ok(t, err)
	got := ""
	for _, step := range []flow.Step{{Path: "0", Kind: flow.KindAwait, Name: "go", Keep: true, Input: json.RawMessage(`{"signals":["go"]}`)}, {Path: "1", Kind: "add"}, {Path: "2", Kind: "add"}} {
		step.Job = id
		_, err := s.Do(t.Context(), jobs.Task{Step: step})
		ok(t, err)
		got += fmt.Sprint(s.Idle(), " ")
	}
	if got += fmt.Sprint(s.Idle()); got != "true false false true" {
		t.Errorf("after a question, two steps, and a while it is idle: %s", got)
	}
	if j, err := s.Leave(jobs.ErrStopped); err != nil || j.Status != jobs.Waiting {
		t.Errorf("%+v, %v", j, err)
	}
}

// attendEnds stops steps: by a time, by a race that is lost, and by a cancel, which ends the session.
func attendEnds(t *testing.T, b *bench) {
	var begun atomic.Int32
	b.step = func(ctx context.Context, s flow.Step) (json.RawMessage, error) {
		begun.Add(1)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	id := b.submit(t, 1)
	s, err := b.Attend(t.Context(), id, jobs.RunOptions{})
	ok(t, err)
	_, err = b.Attend(t.Context(), id, jobs.RunOptions{})
	is(t, err, jobs.ErrHeld)
	step := flow.Step{Job: id, Path: "0", Kind: "add", Within: time.Millisecond}
	code := func(ctx context.Context, task jobs.Task) string {
		_, err := s.Do(ctx, task)
		if se := new(flow.StepError); errors.As(err, &se) {
			return se.Code
		}
		return fmt.Sprint(err)
	}
	if got := code(t.Context(), jobs.Task{Step: step}); got != flow.TimedOut {
		t.Errorf("a step that is bound by a millisecond has %s", got)
	}
	ctx, lose := context.WithCancel(t.Context())
	before := begun.Load()
	time.AfterFunc(time.Millisecond, lose)
	step.Path, step.Within = "1", 0
	if got := code(ctx, jobs.Task{Step: step, Race: true}); got != flow.Lost {
		t.Errorf("a step of a branch that has lost has %s", got)
	}
	if got := code(t.Context(), jobs.Task{Step: step, Race: true}); got != flow.Lost || begun.Load() > before+1 {
		t.Errorf("asked for again it has %s, and was begun %d times", got, begun.Load()-before)
	}
	step.Path = "2"
	if _, err := s.Do(ctx, jobs.Task{Step: step}); !errors.Is(err, context.Canceled) {
		t.Errorf("a step that was stopped has %v", err)
	}
	time.AfterFunc(time.Millisecond, func() { _ = b.Store.Cancel(context.WithoutCancel(t.Context()), id, nil) })
	if got := code(t.Context(), jobs.Task{Step: step}); got != "cancelled" || s.Ended() == nil {
		t.Errorf("a step of a cancelled job has %s", got)
	}
	if j, err := s.End(nil, nil, jobs.Cancelled, "cancelled"); err != nil || j.Status != jobs.Cancelled {
		t.Errorf("%+v, %v", j, err)
	}
	_, err = b.Attend(t.Context(), id, jobs.RunOptions{})
	is(t, err, jobs.ErrFinal)
}

// attendReopened lets a job go on after it failed elsewhere: what the new run is given of its
// history is enough to repeat no step and to ask nothing twice, and the signal that the store
// had for it is gone when the engine has received it.
func attendReopened(t *testing.T, b *bench) {
	wf := turns(b)
	j, err := b.Submit(t.Context(), &jobs.Job{Workflow: wf.Name, Input: json.RawMessage("4")})
	ok(t, err)
	b.step = func(_ context.Context, s flow.Step) (json.RawMessage, error) {
		if b.runs.Load() == 3 {
			return nil, errors.New("once")
		}
		return s.Input, nil
	}
	run := func(o jobs.RunOptions, status jobs.Status) {
		t.Helper()
		s, err := b.Attend(t.Context(), j.ID, o)
		ok(t, err)
		h, err := s.History(t.Context())
		ok(t, err)
		e := newElsewhere(func(task jobs.Task) (json.RawMessage, error) {
			out, err := s.Do(t.Context(), task)
			if task.Step.Kind == flow.KindAwait {
				ok(t, b.Store.Send(t.Context(), j.ID, flow.Signal{Name: "go", Value: json.RawMessage(` "now"`), Question: task.Step.Path}))
			}
			return out, err
		})
		maps.Copy(e.states, h.States)
		for _, rec := range h.Steps {
			e.known[rec.Path] = flow.Past{Output: rec.Output, Failure: rec.Failure}
		}
		out, err := wf.Run(flow.NewRun(j.ID, e).With(b.Workflows...), json.RawMessage("4"))
		code, why := jobs.Verdict(err)
		if got, err := s.End(e.before, out, code, why); err != nil || got.Status != status {
			t.Fatalf("%+v, %v", got, err)
		}
	}
	run(jobs.RunOptions{}, jobs.Failed)
	if now, err := jobs.Find(t.Context(), b.Store, j.ID); err != nil || len(now.Signals) > 0 {
		t.Errorf("%+v, %v: its signal was received", now.Signals, err)
	}
	ok(t, b.Store.Reopen(t.Context(), j.ID, flow.Reopener{Failed: func(flow.Record, json.RawMessage) bool { return false }}))
	run(jobs.RunOptions{Reopened: "resumed after it failed"}, jobs.Done)
	asked, noted := 0, 0
	for _, ev := range read(t, b.Store, j.ID, 0) {
		switch {
		case ev.Kind == event.Approval:
			asked++
		case ev.Kind == event.Note && ev.Text == "resumed after it failed":
			noted++
		}
	}
	if asked != 1 || noted != 1 || b.runs.Load() != 7 {
		t.Errorf("it asked %d times, its resumption is noted %d times, and %d steps were performed", asked, noted, b.runs.Load())
	}
}
