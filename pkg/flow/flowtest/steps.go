package flowtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/flow"
)

func steps(t *testing.T, h Harness) {
	var log effects
	wf := flow.Define("steps", func(r *flow.Run, n int) ([]int, error) {
		var out []int
		for i := range n {
			v, err := flow.Do[int](r, "echo", fmt.Sprint("s", i), i*i)
			if err != nil {
				return nil, err
			}
			out = append(out, v)
			if err := r.Note("at %d", i); err != nil {
				return nil, err
			}
		}
		return out, nil
	})
	equal(t, "result", h.must(t, Request{Workflow: wf, Input: json.RawMessage("3"), Mux: log.mux()}), "[0,1,4]")
	equal(t, "effects", fmt.Sprint(log.take()), "[0 s0 2 s1 4 s2]")
}

var failing = flow.Define("failing", func(r *flow.Run, _ any) ([]string, error) {
	_, err := flow.Do[int](r, "fail", "a.txt", nil)
	_, unknown := flow.Do[int](r, "nobody", "x", nil)
	v, later := flow.Do[int](r, "echo", "goes on", 7)
	return []string{errorText(err), errorText(unknown), fmt.Sprint(v, later)}, nil
})

const failed = `["0|fail|a.txt|no_such_file|no a.txt|false","1|nobody|x|failed|no handler for \"nobody\" steps|false","7 \u003cnil\u003e"]`

func failures(t *testing.T, h Harness) {
	var log effects
	equal(t, "result", h.must(t, Request{Workflow: failing, Mux: log.mux()}), failed)
}

func recalledFailures(t *testing.T, h Harness) {
	var log effects
	equal(t, "live", h.must(t, Request{Workflow: failing, Mux: log.mux()}), failed)
	equal(t, "recalled", h.must(t, Request{Workflow: failing, Mux: flow.Mux{}}), failed)
}

func branches(t *testing.T, h Harness) {
	var log effects
	wf := flow.Define("branches", func(r *flow.Run, _ any) ([]any, error) {
		outs, err := flow.Map(r, []int{0, 1, 2, 3}, func(r *flow.Run, i int) (int, error) {
			if i == 1 {
				return flow.Do[int](r, "fail", "second", nil)
			}
			if _, err := flow.Do[int](r, "echo", "first half", i); err != nil {
				return 0, err
			}
			return flow.Do[int](r, "echo", "second half", i*10)
		})
		after, aerr := flow.Do[string](r, "echo", "after", "end")
		return []any{outs, errorText(err), after, errorText(aerr)}, nil
	})
	equal(t, "result", h.must(t, Request{Workflow: wf, Mux: log.mux()}),
		`[[0,0,20,30],"0.1.0|fail|second|no_such_file|no second|false","end","\u003cnil\u003e"]`)
	equal(t, "effects", fmt.Sprint(log.take()),
		"[0.0.0 first half 0.0.1 second half 0.1.0 second 0.2.0 first half 0.2.1 second half 0.3.0 first half 0.3.1 second half 1 after]")
}

// together passes only if three branches are performed at the same time: each
// waits for the others.
func together(t *testing.T, h Harness) {
	var met sync.WaitGroup
	met.Add(3)
	all := make(chan struct{})
	go func() { met.Wait(); close(all) }()
	mux := flow.Mux{"meet": {Handler: func(ctx context.Context, s flow.Step, _ event.Sink) (json.RawMessage, error) {
		met.Done()
		select {
		case <-all:
			return s.Input, nil
		case <-time.After(20 * time.Second):
			return nil, errors.New("nobody came")
		}
	}}}
	wf := flow.Define("together", func(r *flow.Run, _ any) ([]int, error) {
		return flow.Map(r, []int{1, 2, 3}, func(r *flow.Run, i int) (int, error) { return flow.Do[int](r, "meet", "", i) })
	})
	equal(t, "result", h.must(t, Request{Workflow: wf, Mux: mux}), "[1,2,3]")
}

func calls(t *testing.T, h Harness) {
	var log effects
	inner := func(r *flow.Run, in int) (int, error) {
		v, err := flow.Do[int](r, "echo", "inner", in+1)
		return v * 2, err
	}
	wf := flow.Define("calls", func(r *flow.Run, _ any) ([]int, error) {
		a, err := flow.Do[int](r, "echo", "a", 1)
		if err != nil {
			return nil, err
		}
		b, err := flow.Call(r, "inner", inner, a)
		if err != nil {
			return nil, err
		}
		c, err := flow.Call(r, "outer", func(r *flow.Run, in int) (int, error) { return flow.Call(r, "inner", inner, in) }, b)
		return []int{a, b, c}, err
	})
	equal(t, "result", h.must(t, Request{Workflow: wf, Mux: log.mux()}), "[1,4,10]")
	equal(t, "effects", fmt.Sprint(log.take()), "[0 a 1.0 inner 2.0.0 inner]")
}

func retries(t *testing.T, h Harness) {
	var mu sync.Mutex
	tries := map[string]int{}
	handler := func(_ context.Context, s flow.Step, _ event.Sink) (json.RawMessage, error) {
		mu.Lock()
		defer mu.Unlock()
		tries[s.Name]++
		switch {
		case s.Name == "final":
			return nil, &flow.Failure{Code: "bad", Message: "final"}
		case s.Name == "third time" && tries[s.Name] == 3:
			return json.RawMessage("1"), nil
		}
		return nil, &flow.Failure{Code: "busy", Message: "again", Retryable: true}
	}
	mux := flow.Mux{"try": {Handler: handler, Attempts: 3, Backoff: time.Millisecond}}
	wf := flow.Define("retries", func(r *flow.Run, _ any) ([]string, error) {
		var out []string
		for _, name := range []string{"third time", "never", "final"} {
			v, err := flow.Do[int](r, "try", name, nil)
			out = append(out, fmt.Sprint(v, " ", errorText(err)))
		}
		return out, nil
	})
	equal(t, "result", h.must(t, Request{Workflow: wf, Mux: mux}),
		`["1 \u003cnil\u003e","0 1|try|never|busy|again|true","0 2|try|final|bad|final|false"]`)
	mu.Lock()
	defer mu.Unlock()
	equal(t, "tries", fmt.Sprint(tries), "map[final:1 never:3 third time:3]")
}

func panics(t *testing.T, h Harness) {
	mux := flow.Mux{"bad": {Handler: func(context.Context, flow.Step, event.Sink) (json.RawMessage, error) { panic("oh") }}}
	wf := flow.Define("panics", func(r *flow.Run, _ any) (string, error) {
		_, err := flow.Do[int](r, "bad", "x", nil)
		return errorText(err), nil
	})
	equal(t, "result", h.must(t, Request{Workflow: wf, Mux: mux}), `"0|bad|x|panicked|panic: oh|false"`)
}

func replay(t *testing.T, h Harness) {
	var log effects
	h.Send(t, "job", flow.Signal{Name: "go", Value: json.RawMessage(`"sent"`)})
	first := h.must(t, Request{Workflow: mixed, Mux: log.mux()})
	if len(log.take()) == 0 {
		t.Fatal("the first run performed nothing")
	}
	equal(t, "second result", h.must(t, Request{Workflow: mixed, Mux: log.mux()}), first)
	equal(t, "effects of the second run", fmt.Sprint(log.take()), "[]")
}

func divergence(t *testing.T, h Harness) {
	var log effects
	asks := func(kind, name string, in any) flow.Workflow {
		return flow.Define("diverges", func(r *flow.Run, _ any) (string, error) {
			_, err := flow.Do[any](r, kind, name, in)
			// A workflow that ignores errors must not get any further.
			_, _ = flow.Do[any](r, "echo", "later", nil)
			return "", err
		})
	}
	first := flow.Define("diverges", func(r *flow.Run, _ any) (any, error) { return flow.Do[any](r, "echo", "a", 1) })
	h.must(t, Request{Workflow: first, Mux: log.mux()})
	log.take()
	for what, wf := range map[string]flow.Workflow{
		"kind": asks("unsafe", "a", 1), "name": asks("echo", "b", 1), "input": asks("echo", "a", 2),
	} {
		_, err := h.run(t, Request{Workflow: wf, Mux: log.mux()})
		if d, ok := errors.AsType[*flow.DivergedError](err); !ok || d.Recorded.Name != "a" || d.Asked.Path != "0" {
			t.Errorf("another %s: %v, want a divergence at 0", what, err)
		}
		equal(t, "effects after another "+what, fmt.Sprint(log.take()), "[]")
	}
	h.must(t, Request{Workflow: first, Mux: log.mux()})
}

func stopping(t *testing.T, h Harness) {
	cause := errors.New("stopped by the test")
	ctx, stop := context.WithCancelCause(t.Context())
	var log effects
	mux := log.mux()
	mux["hang"] = flow.Route{Safe: flow.Always, Handler: func(ctx context.Context, _ flow.Step, _ event.Sink) (json.RawMessage, error) {
		stop(cause)
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	wf := flow.Define("stopping", func(r *flow.Run, _ any) (string, error) {
		if _, err := flow.Do[int](r, "echo", "before", 1); err != nil {
			return "", err
		}
		v, err := flow.Do[string](r, "hang", "x", "in")
		_, _ = flow.Do[int](r, "echo", "after", 1)
		return v, err
	})
	if _, err := h.run(t, Request{Ctx: ctx, Workflow: wf, Mux: mux}); !errors.Is(err, cause) {
		t.Fatalf("stopped run: %v", err)
	}
	equal(t, "effects until the stop", fmt.Sprint(log.take()), "[0 before]")
	mux["hang"] = mux["echo"]
	equal(t, "resumed", h.must(t, Request{Workflow: wf, Mux: mux}), `"in"`)
	equal(t, "effects after it", fmt.Sprint(log.take()), "[1 x 2 after]")
}
