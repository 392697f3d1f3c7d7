package flow_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/flow"
)

func served(h func(s flow.Step) (any, error)) flow.Mux {
	return flow.Mux{"do": {Safe: flow.Always, Handler: func(_ context.Context, s flow.Step, _ event.Sink) (json.RawMessage, error) {
		out, err := h(s)
		if err != nil {
			return nil, err
		}
		return json.Marshal(out)
	}}}
}

// TestMapPanic has a branch whose code panics: its siblings finish all the
// same, and what they did is kept for the run that comes after the mistake is
// fixed.
func TestMapPanic(t *testing.T) {
	var performed atomic.Int64
	j := new(flow.Memory)
	mux := served(func(s flow.Step) (any, error) { performed.Add(1); return s.Name, nil })
	run := func(broken bool) (outs []string, err error) {
		r := flow.NewRun("J1", flow.NewLocal(t.Context(), j, mux, nil))
		return flow.Map(r, []int{0, 1, 2, 3}, func(r *flow.Run, i int) (string, error) {
			if broken && i == 1 {
				panic("a mistake in branch 1")
			}
			first, err := flow.Do[string](r, "do", fmt.Sprint("first ", i), nil)
			if err != nil {
				return "", err
			}
			second, err := flow.Do[string](r, "do", fmt.Sprint("second ", i), nil)
			return first + ", " + second, err
		})
	}
	func() {
		defer func() {
			if p := recover(); p != "a mistake in branch 1" {
				t.Errorf("panicked with %v", p)
			}
		}()
		_, _ = run(true)
	}()
	if n := performed.Swap(0); n != 6 {
		t.Errorf("%d steps beside the branch that panicked, want 6", n)
	}
	outs, err := run(false)
	if err != nil || outs[1] != "first 1, second 1" || outs[3] != "first 3, second 3" {
		t.Errorf("%q, %v", outs, err)
	}
	if n := performed.Load(); n != 2 {
		t.Errorf("%d steps after it was fixed, want the 2 of its branch", n)
	}
}

// TestMapCancel stops a run in the midst of nested branches: what had been
// performed is kept, nothing begins any more, and the resumed run does the
// rest once.
func TestMapCancel(t *testing.T) {
	halt := errors.New("the user said stop")
	ctx, stop := context.WithCancelCause(t.Context())
	defer stop(nil)
	var performed atomic.Int64
	j := new(flow.Memory)
	stopping := true
	mux := served(func(s flow.Step) (any, error) {
		if performed.Add(1) == 7 && stopping {
			stop(halt)
		}
		return s.Path, nil
	})
	run := func(ctx context.Context) ([][]string, error, error) {
		e := flow.NewLocal(ctx, j, mux, nil)
		e.Width = 1 // one after the other: it is known how far they come
		outs, err := flow.Map(flow.NewRun("J1", e), []int{0, 1, 2}, func(r *flow.Run, _ int) ([]string, error) {
			return flow.Map(r, []int{0, 1}, func(r *flow.Run, _ int) (string, error) {
				a, err := flow.Do[string](r, "do", "a", nil)
				if err != nil {
					return "", err
				}
				b, err := flow.Do[string](r, "do", "b", nil)
				return a + " " + b, err
			})
		})
		return outs, err, e.Ended()
	}
	_, err, ended := run(ctx)
	if !errors.Is(err, halt) || !errors.Is(ended, halt) {
		t.Errorf("stopped with %v, ended by %v", err, ended)
	}
	if n := performed.Load(); n != 7 {
		t.Errorf("%d steps, want those up to the stop: 7", n)
	}
	stopping = false
	outs, err, ended := run(t.Context())
	if err != nil || ended != nil || fmt.Sprint(outs) != "[[0.0.0.0.0 0.0.0.0.1 0.0.0.1.0 0.0.0.1.1] [0.1.0.0.0 0.1.0.0.1 0.1.0.1.0 0.1.0.1.1] [0.2.0.0.0 0.2.0.0.1 0.2.0.1.0 0.2.0.1.1]]" {
		t.Errorf("%q, %v, %v", outs, err, ended)
	}
	if n := performed.Load(); n != 12 {
		t.Errorf("%d steps in both runs, want 12", n)
	}
}

// TestMapForked uses what belongs to the run inside of a branch.
func TestMapForked(t *testing.T) {
	for name, use := range map[string]func(r *flow.Run, u *flow.Undo){
		"Run":  func(r *flow.Run, _ *flow.Undo) { _ = r.Note("x") },
		"Undo": func(_ *flow.Run, u *flow.Undo) { u.Add("x", nil) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if p := fmt.Sprint(recover()); p != "flow: Run used inside Map; use the branch's own Run" && p != "flow: Undo used inside Map; begin a saga in the branch" {
					t.Errorf("panicked with %q", p)
				}
			}()
			outer := flow.NewRun("J1", flow.NewLocal(t.Context(), new(flow.Memory), nil, nil))
			_, _ = flow.Saga(outer, func(outer *flow.Run, u *flow.Undo) (int, error) {
				_, err := flow.Map(outer, []int{1}, func(*flow.Run, int) (int, error) { use(outer, u); return 0, nil })
				return 0, err
			})
			t.Error("nothing said that it may not be used")
		})
	}
}

// TestPull drives nested branches by hand, in order, with a failing one and an
// awaiting one among them.
func TestPull(t *testing.T) {
	wf := flow.Define("pulled", func(r *flow.Run, _ any) (string, error) {
		outs, err := flow.Map(r, []string{"a", "b"}, func(r *flow.Run, x string) ([]string, error) {
			return flow.Map(r, []string{"0", "1"}, func(r *flow.Run, y string) (string, error) {
				if x+y == "b0" {
					return flow.Await[string](r, "go", 0)
				}
				return flow.Do[string](r, "do", x+y, nil)
			})
		})
		if err := r.Note("branches are done"); err != nil {
			return "", err
		}
		_, failed := errors.AsType[*flow.StepError](err)
		v, derr := flow.Do[string](r, "do", "after", failed)
		return fmt.Sprint(outs, v), derr
	})
	next, stop, result := flow.Pull(wf, nil)
	defer stop()
	var asked []string
	for {
		s, reply, ok := next()
		if !ok {
			break
		}
		asked = append(asked, s.Path+" "+s.Kind+" "+s.Name)
		switch {
		case s.Kind == flow.KindAwait:
			reply(flow.Signal{Name: "go", Value: json.RawMessage(`"answered"`)}, nil)
		case s.Name == "a1":
			reply(nil, errors.New("no a1"))
		default:
			reply(s.Name+string(s.Input), nil)
		}
	}
	out, err := result()
	if err != nil || string(out) != `"[[a0null ] [answered b1null]]aftertrue"` {
		t.Errorf("%s, %v", out, err)
	}
	if got := fmt.Sprintf("%q", asked); got != `["0.0.0.0.0 do a0" "0.0.0.1.0 do a1" "0.1.0.0.0 await go" "0.1.0.1.0 do b1" "2 do after"]` {
		t.Errorf("asked for %s", got)
	}
}

// TestPullStop gives a workflow up in the midst of a branch: it gets no
// further, and what it leaves open is closed.
func TestPullStop(t *testing.T) {
	closed := false
	wf := flow.Define("given up", func(r *flow.Run, _ any) (int, error) {
		defer func() { closed = true }()
		_, err := flow.Map(r, []int{0, 1}, func(r *flow.Run, i int) (int, error) { return flow.Do[int](r, "do", fmt.Sprint(i), i) })
		return 0, err
	})
	next, stop, result := flow.Pull(wf, nil)
	if s, _, ok := next(); !ok || s.Name != "0" {
		t.Fatalf("first step %v", s)
	}
	stop()
	if _, err := result(); !closed || err == nil {
		t.Errorf("closed %v, error %v", closed, err)
	}
	if s, _, ok := next(); ok {
		t.Errorf("after the stop it asks for %v", s)
	}
}
