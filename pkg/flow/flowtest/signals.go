package flowtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/flow"
)

func sleeps(t *testing.T, h Harness) {
	wf := flow.Define("sleeps", func(r *flow.Run, _ any) (string, error) {
		if err := flow.Sleep(r, 0); err != nil {
			return "", err
		}
		return "awake", flow.Sleep(r, 20*time.Millisecond)
	})
	equal(t, "result", h.must(t, Request{Workflow: wf}), `"awake"`)
}

// rest kills a run in its sleep, lets that time go by in another job, and
// resumes: nothing is left to wait for.
func rest(t *testing.T, h Harness) {
	const nap = time.Second
	wf := flow.Define("rest", func(r *flow.Run, d time.Duration) (string, error) { return "awake", flow.Sleep(r, d) })
	in := json.RawMessage(fmt.Sprint(int64(nap)))
	if _, err := h.run(t, Request{Workflow: wf, Input: in, Hook: killAt("begun", "0")}); err != errKilled {
		t.Fatal(err)
	}
	h.must(t, Request{Job: "other", Workflow: wf, Input: in})
	start := time.Now()
	equal(t, "result", h.must(t, Request{Workflow: wf, Input: in}), `"awake"`)
	if took := time.Since(start); took > nap*9/10 {
		t.Errorf("resumed after its time it slept %s more", took)
	}
}

func send(t testing.TB, h Harness, name string, value any) {
	t.Helper()
	b, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	h.Send(t, "job", flow.Signal{Name: name, Value: b})
}

func queue(t *testing.T, h Harness) {
	for i := range 3 {
		send(t, h, "n", i)
	}
	wf := flow.Define("queue", func(r *flow.Run, _ any) ([]int, error) {
		var out []int
		for range 3 {
			v, err := flow.Await[int](r, "n", 0)
			if err != nil {
				return nil, err
			}
			out = append(out, v)
		}
		return out, nil
	})
	equal(t, "result", h.must(t, Request{Workflow: wf}), "[0,1,2]")
}

// wrongType: a value that is no Out does not end the wait, nor the run.
func wrongType(t *testing.T, h Harness) {
	send(t, h, "n", "five")
	send(t, h, "n", []int{5})
	send(t, h, "n", true)
	send(t, h, "n", 5)
	wf := flow.Define("wrongType", func(r *flow.Run, _ any) (int, error) { return flow.Await[int](r, "n", 0) })
	equal(t, "result", h.must(t, Request{Workflow: wf}), "5")
}

func byName(t *testing.T, h Harness) {
	send(t, h, "a", 1)
	send(t, h, "b", 2)
	send(t, h, "c", 3)
	wf := flow.Define("by name", func(r *flow.Run, _ any) (string, error) {
		b, err := flow.Await[int](r, "b", 0)
		if err != nil {
			return "", err
		}
		// Of several names the oldest signal, not the first name.
		s, err := flow.AwaitAny(r, "which?", 0, "c", "a")
		if err != nil {
			return "", err
		}
		c, err := flow.Await[int](r, "c", 0)
		return fmt.Sprint(b, s.Name, string(s.Value), c), err
	})
	equal(t, "result", h.must(t, Request{Workflow: wf}), `"2a13"`)
}

func once(t *testing.T, h Harness) {
	two := flow.Define("once", func(r *flow.Run, _ any) (string, error) {
		v, err := flow.Await[string](r, "go", 0)
		if err != nil {
			return "", err
		}
		_, err = flow.Await[string](r, "go", 30*time.Millisecond)
		return v + " " + errorText(err), nil
	})
	send(t, h, "go", "x")
	want := `"x 1|await|go|timed_out|nobody answered in time|false"`
	equal(t, "first run", h.must(t, Request{Workflow: two}), want)
	send(t, h, "go", "late")
	equal(t, "second run", h.must(t, Request{Workflow: two}), want)
}

func meanwhile(t *testing.T, h Harness) {
	mux := flow.Mux{"tell": {Handler: func(_ context.Context, s flow.Step, _ event.Sink) (json.RawMessage, error) {
		h.Send(t, s.Job, flow.Signal{Name: "go", Value: s.Input})
		return s.Input, nil
	}}}
	wf := flow.Define("meanwhile", func(r *flow.Run, _ any) ([]string, error) {
		return flow.Map(r, []string{"await", "tell"}, func(r *flow.Run, what string) (string, error) {
			if what == "tell" {
				return flow.Do[string](r, "tell", "", "hello")
			}
			return flow.Await[string](r, "go", 0)
		})
	})
	equal(t, "result", h.must(t, Request{Workflow: wf, Mux: mux}), `["hello","hello"]`)
}

func timeouts(t *testing.T, h Harness) {
	send(t, h, "other", 1)
	wf := flow.Define("timeouts", func(r *flow.Run, _ any) (string, error) {
		_, err := flow.Await[int](r, "go", 10*time.Millisecond)
		return errorText(err), nil
	})
	equal(t, "result", h.must(t, Request{Workflow: wf}), `"0|await|go|timed_out|nobody answered in time|false"`)
}

func parking(t *testing.T, h Harness) {
	var log effects
	wf := flow.Define("parking", func(r *flow.Run, _ any) (string, error) {
		if _, err := flow.Do[int](r, "echo", "before", 1); err != nil {
			return "", err
		}
		s, err := flow.AwaitAny(r, map[string]string{"ask": "may I"}, 0, "yes", "no")
		return s.Name, err
	})
	q := Request{Workflow: wf, Mux: log.mux(), Park: true}
	for range 2 {
		_, err := h.run(t, q)
		if p, ok := errors.AsType[*flow.ParkedError](err); !ok || p.Path != "1" || fmt.Sprint(p.Signals) != "[yes no]" || string(p.About) != `{"ask":"may I"}` {
			t.Fatalf("parked: %v", err)
		}
	}
	send(t, h, "no", nil)
	equal(t, "resumed", h.must(t, q), `"no"`)
	equal(t, "effects of three runs", fmt.Sprint(log.take()), "[0 before]")
}

// brief waits no longer than a run that must not wait takes to end: it times out,
// however fast the run is.
func brief(t *testing.T, h Harness) {
	wf := flow.Define("brief", func(r *flow.Run, _ any) (string, error) {
		_, err := flow.AwaitAny(r, nil, 20*time.Millisecond, "yes", "no")
		return errorText(err), nil
	})
	equal(t, "result", h.must(t, Request{Workflow: wf, Park: true}), `"0|await|yes|no|timed_out|nobody answered in time|false"`)
}

// refusal is a workflow that takes every error of a question for a no. Parked,
// it must not act on an answer that nobody gave.
func refusal(t *testing.T, h Harness) {
	var log effects
	wf := flow.Define("refusal", func(r *flow.Run, _ any) (string, error) {
		outs, err := flow.Map(r, []int{0, 1}, func(r *flow.Run, i int) (string, error) {
			if i == 1 {
				return flow.Do[string](r, "echo", "sibling", "done")
			}
			return flow.Await[string](r, "go", 0)
		})
		if err != nil {
			if _, err := flow.Do[string](r, "echo", "refused", ""); err != nil {
				return "", err
			}
		}
		return fmt.Sprint(outs), nil
	})
	q := Request{Workflow: wf, Mux: log.mux(), Park: true}
	if _, err := h.run(t, q); err == nil {
		t.Error("the run ended as if it had been answered")
	}
	equal(t, "effects while parked", fmt.Sprint(log.take()), "[0.1.0 sibling]")
	send(t, h, "go", "yes")
	equal(t, "resumed", h.must(t, q), `"[yes done]"`)
	equal(t, "effects after the answer", fmt.Sprint(log.take()), "[]")
}
