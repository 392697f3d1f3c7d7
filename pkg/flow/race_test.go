package flow_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/flow"
)

// The first branch that wins stops what the others are about: the step under way
// fails as lost, a later one does not begin, and a replay performs nothing and has the
// same winner.
func TestRace(t *testing.T) {
	journal, performed := new(flow.Memory), []string{}
	var mu sync.Mutex
	begun := make(chan struct{})
	mux := flow.Mux{"do": {Handler: func(ctx context.Context, s flow.Step, _ event.Sink) (json.RawMessage, error) {
		mu.Lock()
		performed = append(performed, s.Name)
		mu.Unlock()
		switch s.Name {
		case "slow":
			close(begun)
			<-ctx.Done() // until it is stopped
			return nil, ctx.Err()
		case "fast":
			<-begun
		}
		return json.RawMessage(`{}`), nil
	}}}
	run := func() ([]string, int, error) {
		r := flow.NewRun("J1", flow.NewLocal(t.Context(), journal, mux, nil))
		outs, winner, err := flow.Race(r, []string{"slow", "fast"}, func(r *flow.Run, name string) (string, bool, error) {
			var codes string
			for _, step := range []string{name, "after " + name} {
				_, err := flow.Do[struct{}](r, "do", step, nil)
				var se *flow.StepError
				if errors.As(err, &se) {
					codes += se.Code + " "
				} else if err != nil {
					return "", false, err
				}
			}
			return codes, name == "fast", nil
		})
		if err == nil { // what comes after is not in the race
			_, err = flow.Do[struct{}](r, "do", "last", nil)
		}
		return outs, winner, err
	}
	for range 2 {
		outs, winner, err := run()
		if err != nil || winner != 1 || !slices.Equal(outs, []string{"lost lost ", ""}) {
			t.Errorf("%q, %d, %v", outs, winner, err)
		}
		slices.Sort(performed)
		if want := []string{"after fast", "fast", "last", "slow"}; !slices.Equal(performed, want) {
			t.Errorf("performed %q, want %q", performed, want)
		}
	}
}

// A race that nobody wins has no winner, and all its branches end.
func TestRaceWithoutWinner(t *testing.T) {
	r := flow.NewRun("J1", flow.NewLocal(t.Context(), new(flow.Memory), served(func(flow.Step) (any, error) { return "x", nil }), nil))
	outs, winner, err := flow.Race(r, []int{1, 2, 3}, func(r *flow.Run, i int) (int, bool, error) {
		_, err := flow.Do[string](r, "do", "step", nil)
		return i, false, err
	})
	if err != nil || winner != -1 || !slices.Equal(outs, []int{1, 2, 3}) {
		t.Errorf("%v, %d, %v", outs, winner, err)
	}
}

// A branch that asks a person holds up nobody. When another wins, the question is
// withdrawn, for good; when none can go on without an answer, the run waits, and the
// answer is taken once.
func TestRaceAsks(t *testing.T) {
	for _, c := range []struct {
		name   string
		wins   bool // the branch that asks nobody, once the question is open
		answer bool // comes while that branch is at work
	}{{"withdrawn", true, false}, {"answered while the other is at work", false, true}, {"waits", false, false}} {
		t.Run(c.name, func(t *testing.T) {
			journal, open, taken := new(flow.Memory), make(chan struct{}, 4), make(chan struct{}, 4)
			var withdrawn, asked atomic.Int32
			mux := flow.Mux{"work": {Handler: func(ctx context.Context, _ flow.Step, _ event.Sink) (json.RawMessage, error) {
				<-open
				if c.answer {
					if err := journal.Send(ctx, "J1", flow.Signal{Name: "go", Value: json.RawMessage(`"now"`)}); err != nil {
						return nil, err
					}
					<-taken
				}
				return json.RawMessage(`{}`), nil
			}}, "after": {Handler: func(context.Context, flow.Step, event.Sink) (json.RawMessage, error) {
				taken <- struct{}{}
				return json.RawMessage(`{}`), nil
			}}}
			watch := func(ev event.Event) {
				switch {
				case ev.Kind == event.Approval:
					asked.Add(1)
					open <- struct{}{}
				case ev.Kind == event.StepFinished && ev.Step == flow.KindAwait && ev.Error != "":
					withdrawn.Add(1)
				}
			}
			var says string
			run := func() (winner int, err error) {
				l := flow.NewLocal(t.Context(), journal, mux, watch)
				l.Park = true
				r := flow.NewRun("J1", l)
				_, winner, err = flow.Race(r, []string{"asks", "works"}, func(r *flow.Run, name string) (struct{}, bool, error) {
					if name == "works" {
						_, err := flow.Do[struct{}](r, "work", "", nil)
						return struct{}{}, c.wins, err
					}
					sig, err := flow.AwaitAny(r, "May I?", 0, "go")
					if se := new(flow.StepError); errors.As(err, &se) {
						says = se.Code
						return struct{}{}, false, nil
					}
					if err != nil {
						return struct{}{}, false, err
					}
					says = string(sig.Value)
					_, err = flow.Do[struct{}](r, "after", "", nil)
					return struct{}{}, true, err
				})
				return winner, errors.Join(err, l.Ended())
			}
			winner, err := run()
			parked := new(flow.ParkedError)
			switch {
			case c.wins && (err != nil || winner != 1 || says != "lost" || withdrawn.Load() != 1):
				t.Errorf("%d, %v; the one that asks has %q, %d questions are withdrawn", winner, err, says, withdrawn.Load())
			case c.answer && (err != nil || winner != 0 || says != `"now"`):
				t.Errorf("%d, %v, %s", winner, err, says)
			case !c.wins && !c.answer && (!errors.As(err, &parked) || len(parked.Signals) != 1):
				t.Errorf("it does not wait: %v", err)
			}
			if parked.Path != "" {
				if err := journal.Send(t.Context(), "J1", flow.Signal{Name: "go", Value: json.RawMessage(`"later"`)}); err != nil {
					t.Fatal(err)
				}
				if winner, err := run(); err != nil || winner != 0 || says != `"later"` {
					t.Errorf("after the answer: %d, %v, %s", winner, err, says)
				}
			}
			before, was := asked.Load(), says
			if again, err := run(); err != nil || says != was || asked.Load() != before {
				t.Errorf("a replay has %d, %v, %s; asked %d times, before %d", again, err, says, asked.Load(), before)
			}
		})
	}
}

// A question in a branch of a branch is one of the race, and others of that branch are at
// work: the run does not wait for it too early.
func TestRaceAsksWithin(t *testing.T) {
	journal, asked := new(flow.Memory), make(chan struct{}, 2)
	mux := flow.Mux{"work": {Handler: func(ctx context.Context, _ flow.Step, _ event.Sink) (json.RawMessage, error) {
		<-asked
		<-asked
		return json.RawMessage(`{}`), journal.Send(ctx, "J1", flow.Signal{Name: "go", Value: json.RawMessage(`"now"`)})
	}}}
	l := flow.NewLocal(t.Context(), journal, mux, func(ev event.Event) {
		if ev.Kind == event.Approval {
			asked <- struct{}{}
		}
	})
	l.Park = true
	_, winner, err := flow.Race(flow.NewRun("J1", l), []int{0, 1}, func(r *flow.Run, i int) (struct{}, bool, error) {
		if i == 1 {
			_, err := flow.AwaitAny(r, "May I, too?", 0, "too")
			if se := new(flow.StepError); errors.As(err, &se) {
				err = nil
			}
			return struct{}{}, false, err
		}
		// One part asks while the other works, and is answered.
		_, err := flow.Map(r, []int{0, 1}, func(r *flow.Run, k int) (struct{}, error) {
			if k == 1 {
				return flow.Do[struct{}](r, "work", "", nil)
			}
			_, err := flow.AwaitAny(r, "May I?", 0, "go")
			return struct{}{}, err
		})
		return struct{}{}, true, err
	})
	if err != nil || l.Ended() != nil || winner != 0 {
		t.Errorf("%d, %v, %v", winner, err, l.Ended())
	}
}

// apart is an engine that runs children and races by itself, and performs steps here.
type apart struct {
	*flow.Local
	spawned []string
	known   []flow.Workflow
}

func (e *apart) Spawn(label, scope string, wf flow.Workflow, in json.RawMessage, within time.Duration) (json.RawMessage, error) {
	e.spawned = append(e.spawned, label+" "+scope+" "+wf.Name+" "+within.String())
	return wf.Run(flow.NewChild("J1", scope, e, within).With(e.known...), in)
}

func (e *apart) Race(n int, branch func(int, flow.Engine, func())) {
	ends := make([]func(), n)
	own := make([]*flow.Local, n)
	for i := range n {
		one := *e.Local
		own[i] = &one
		own[i].Lost, ends[i] = context.WithCancel(e.Ctx)
	}
	e.Fork(n, func(i int, _ flow.Engine) {
		branch(i, own[i], func() {
			for k, end := range ends {
				if k != i {
					end()
				}
			}
		})
	})
}

// An engine that runs children and races by itself leaves the journal that others leave.
func TestSpawnerAndRacer(t *testing.T) {
	begun := make(chan struct{})
	mux := flow.Mux{"do": {Handler: func(ctx context.Context, s flow.Step, _ event.Sink) (json.RawMessage, error) {
		if s.Name == "slow" {
			close(begun)
			<-ctx.Done()
			return nil, ctx.Err()
		}
		if s.Name == "fast" {
			<-begun
		}
		return json.RawMessage(`"` + s.Within.String() + `"`), nil
	}}}
	leaf := flow.Define("leaf", func(r *flow.Run, name string) (string, error) { return flow.Do[string](r, "do", name, nil) })
	middle := flow.Define("middle", func(r *flow.Run, name string) (json.RawMessage, error) {
		return flow.Child(r, "inner", "leaf", name, func(json.RawMessage, error) (string, any) { return "ended", nil })
	})
	e := &apart{Local: flow.NewLocal(t.Context(), new(flow.Memory), mux, nil), known: []flow.Workflow{leaf, middle}}
	r := flow.NewRun("J1", e).With(leaf, middle)
	out, err := flow.Within(r, time.Hour, func(r *flow.Run) (json.RawMessage, error) {
		return flow.Child(r, "outer", "middle", "one", func(json.RawMessage, error) (string, any) { return "ended", nil })
	})
	if err != nil || string(out) != `"1h0m0s"` || !slices.Equal(e.spawned, []string{"outer 0. middle 1h0m0s", "inner 0.0. leaf 1h0m0s"}) {
		t.Errorf("%s, %v, %q", out, err, e.spawned)
	}
	outs, winner, err := flow.Race(r, []string{"slow", "fast"}, func(r *flow.Run, name string) (string, bool, error) {
		_, err := flow.Do[string](r, "do", name, nil)
		se := new(flow.StepError)
		if errors.As(err, &se) {
			return se.Code, false, nil
		}
		return "won", true, err
	})
	if err != nil || winner != 1 || !slices.Equal(outs, []string{flow.Lost, "won"}) {
		t.Errorf("%q, %d, %v", outs, winner, err)
	}
}
