package flowtest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/adroit-run/adroit/pkg/flow"
)

// killAt kills at a point of the step at path.
func killAt(point, path string) func(string, flow.Step) {
	return func(p string, s flow.Step) {
		if p == point && s.Path == path {
			panic(killed{p, s.Path})
		}
	}
}

// killAfter kills at the n-th point and at all that follow: branches that are
// still on their way die with it.
func killAfter(n int) func(string, flow.Step) {
	var count atomic.Int64
	return func(point string, s flow.Step) {
		if count.Add(1) > int64(n) {
			panic(killed{point, s.Path})
		}
	}
}

// mixed is a bit of everything.
var mixed = flow.Define("mixed", func(r *flow.Run, _ any) ([]string, error) {
	a, err := flow.Do[string](r, "echo", "first", "a")
	if err != nil {
		return nil, err
	}
	_, ferr := flow.Do[string](r, "fail", "b", nil)
	if _, ok := ferr.(*flow.StepError); !ok {
		return nil, ferr
	}
	cs, err := flow.Map(r, []string{"x", "y"}, func(r *flow.Run, s string) (string, error) {
		if s, err := flow.Do[string](r, "echo", "one", s); err != nil {
			return s, err
		}
		return flow.Do[string](r, "echo", "two", s+s)
	})
	if err != nil {
		return nil, err
	}
	d, err := flow.Call(r, "turns", turns, 3)
	if err != nil {
		return nil, err
	}
	if err := flow.Sleep(r, 1); err != nil {
		return nil, err
	}
	e, err := flow.Await[string](r, "go", 0)
	if err != nil {
		return nil, err
	}
	f, err := flow.Do[string](r, "echo", "last", "f")
	return []string{a, errorText(ferr), fmt.Sprint(cs), fmt.Sprint(d), e, f}, err
})

// turns is a reducer that saves after each turn, like the agent loop.
func turns(r *flow.Run, n int) ([]int, error) {
	var done []int
	if _, err := flow.Load(r, &done); err != nil {
		return nil, err
	}
	for len(done) < n {
		v, err := flow.Do[int](r, "echo", "turn", len(done))
		if err != nil {
			return nil, err
		}
		w, err := flow.Do[int](r, "echo", "half", v*v)
		if err != nil {
			return nil, err
		}
		done = append(done, w)
		if err := flow.Save(r, done); err != nil {
			return nil, err
		}
	}
	return done, nil
}

// killAnywhere is Crash that looks at the effects too.
func killAnywhere(t *testing.T, h Harness) {
	var log effects
	if n := crash(t, h, Request{Workflow: mixed, Mux: log.mux()}, &log, 2, flow.Signal{Name: "go", Value: json.RawMessage(`"sent"`)}); n < 30 {
		t.Errorf("only %d points", n)
	}
}

// Crash runs q to its end, and then again for each point that it has come
// through: killed there, and resumed. It fails if a resumed run ends otherwise
// than the first. Each run is a job of its own whose name begins with q.Job,
// and has signals queued from the start; h must be able to kill and resume.
//
// The handlers of q must be safe to repeat and give the same each time.
func Crash(t *testing.T, h Harness, q Request, signals ...flow.Signal) {
	t.Helper()
	crash(t, h, q, nil, 0, signals...)
}

// crash gives the number of points. If log is not nil it has the effects, of which
// so many may be under way at once.
func crash(t *testing.T, h Harness, q Request, log *effects, atOnce int, signals ...flow.Signal) int {
	t.Helper()
	if q.Job == "" {
		q.Job = "job"
	}
	ends := func(q Request) string {
		out, err := h.run(t, q)
		return fmt.Sprintf("%s, error %v", out, err)
	}
	send := func(job string) {
		for _, sig := range signals {
			h.Send(t, job, sig)
		}
	}
	first := q
	first.Job += "-first"
	send(first.Job)
	want := ends(first)
	var all []string
	if log != nil {
		all = log.take()
	}
	for n := 0; ; n++ {
		again := q
		again.Job = fmt.Sprint(q.Job, "-", n)
		send(again.Job)
		killing := again
		var hit atomic.Bool
		kill := killAfter(n)
		killing.Hook = func(point string, s flow.Step) {
			defer func() {
				if p := recover(); p != nil {
					hit.Store(true)
					panic(p)
				}
			}()
			kill(point, s)
		}
		if _, err := h.run(t, killing); !hit.Load() {
			return n
		} else if err != errKilled {
			t.Fatalf("killed at point %d: %v", n, err)
		}
		equal(t, fmt.Sprint("result after a kill at point ", n), ends(again), want)
		if log == nil {
			continue
		}
		// Every effect happened; only what was under way happened twice.
		did := log.take()
		equal(t, fmt.Sprint("effects with a kill at point ", n), fmt.Sprint(slices.Compact(slices.Clone(did))), fmt.Sprint(slices.Compact(slices.Clone(all))))
		if twice := len(did) - len(all); twice > atOnce {
			t.Errorf("kill at point %d repeated %d effects, at most %d were under way", n, twice, atOnce)
		}
	}
}

func interrupted(t *testing.T, h Harness) {
	var log effects
	wf := flow.Define("interrupted", func(r *flow.Run, kind string) (string, error) {
		v, err := flow.Do[string](r, kind, "it", "done")
		return v + " " + errorText(err), nil
	})
	for _, c := range []struct{ kind, point, want, effects string }{
		{"unsafe", "begun", `" 0|unsafe|it|interrupted|interrupted: it may or may not have happened|false"`, "[]"},
		{"unsafe", "performed", `" 0|unsafe|it|interrupted|interrupted: it may or may not have happened|false"`, "[0 it]"},
		{"unsafe", "finished", `"done \u003cnil\u003e"`, "[0 it]"},
		{"echo", "performed", `"done \u003cnil\u003e"`, "[0 it 0 it]"},
	} {
		q := Request{Job: c.kind + "-" + c.point, Workflow: wf, Input: json.RawMessage(`"` + c.kind + `"`), Mux: log.mux()}
		killing := q
		killing.Hook = killAt(c.point, "0")
		if _, err := h.run(t, killing); err != errKilled {
			t.Fatal(err)
		}
		equal(t, q.Job, h.must(t, q), c.want)
		equal(t, q.Job+" again", h.must(t, q), c.want)
		equal(t, q.Job+" effects", fmt.Sprint(log.take()), c.effects)
	}
}

// checkpoint kills a run in its fifth turn: the four before are not asked for.
func checkpoint(t *testing.T, h Harness) {
	var log effects
	wf := flow.Define("checkpoint", turns)
	q := Request{Workflow: wf, Input: json.RawMessage("8"), Mux: log.mux()}
	killing := q
	killing.Hook = killAt("begin", "9")
	if _, err := h.run(t, killing); err != errKilled {
		t.Fatal(err)
	}
	log.take()
	var asked []string
	q.Hook = func(point string, s flow.Step) {
		if point == "begin" {
			asked = append(asked, s.Path)
		}
	}
	equal(t, "result", h.must(t, q), "[0,1,4,9,16,25,36,49]")
	equal(t, "steps asked for", fmt.Sprint(asked), "[8 9 10 11 12 13 14 15]")
	equal(t, "number of effects", fmt.Sprint(len(log.take())), "7")
}

// nested has a loop that saves inside of a loop that saves, in branches.
func nested(t *testing.T, h Harness) {
	var log effects
	wf := flow.Define("nested", func(r *flow.Run, n int) ([]string, error) {
		return flow.Map(r, []string{"l", "r"}, func(r *flow.Run, side string) (string, error) {
			var out []string
			if _, err := flow.Load(r, &out); err != nil {
				return "", err
			}
			for len(out) < n {
				v, err := flow.Call(r, "turns", turns, 2)
				if err != nil {
					return "", err
				}
				out = append(out, fmt.Sprint(side, v))
				if err := flow.Save(r, out); err != nil {
					return "", err
				}
			}
			return strings.Join(out, " "), nil
		})
	})
	want := `["l[0 1] l[0 1] l[0 1]","r[0 1] r[0 1] r[0 1]"]`
	for n := 0; ; n += 3 {
		q := Request{Job: fmt.Sprint("n", n), Workflow: wf, Input: json.RawMessage("3"), Mux: log.mux()}
		killing := q
		killing.Hook = killAfter(n)
		if _, err := h.run(t, killing); err == nil {
			break
		} else if err != errKilled {
			t.Fatal(err)
		}
		equal(t, fmt.Sprint("killed at point ", n), h.must(t, q), want)
	}
}

func thousand(t *testing.T, h Harness) {
	var log effects
	wf := flow.Define("thousand", func(r *flow.Run, n int) (int, error) {
		done, err := turns(r, n)
		return len(done), err
	})
	equal(t, "result", h.must(t, Request{Workflow: wf, Input: json.RawMessage("1000"), Mux: log.mux()}), "1000")
	equal(t, "effects", fmt.Sprint(len(log.take())), "2000")
}
