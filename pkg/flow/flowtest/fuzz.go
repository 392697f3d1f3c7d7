package flowtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/adroit-run/adroit/pkg/flow"
)

// An instr is one instruction of a random program.
type instr struct {
	Op   string    `json:"op"` // step, fail, note, call, map, sleep, await, late, loop, saga
	Name string    `json:"name,omitempty"`
	N    int       `json:"n,omitempty"`
	Body []instr   `json:"body,omitempty"`
	Arms [][]instr `json:"arms,omitempty"`
}

// program invents a program of a few instructions, and the signals it needs.
func program(rnd *rand.Rand, depth int, inBranch bool) (p []instr, signals int) {
	for i := range 1 + rnd.IntN(4) {
		in := instr{Name: fmt.Sprint("i", i), N: rnd.IntN(5)}
		switch k := rnd.IntN(10); {
		case k == 0:
			in.Op = "fail"
		case k == 1:
			in.Op = "note"
		case k == 2:
			in.Op = "sleep"
		case k == 3 && !inBranch: // which branch gets which signal is not defined
			in.Op = "await"
			signals++
		case k == 4:
			in.Op = "late"
		case k == 5 && depth > 0:
			in.Op = "call"
			var n int
			in.Body, n = program(rnd, depth-1, inBranch)
			signals += n
		case k == 6 && depth > 0:
			in.Op = "map"
			for range 1 + rnd.IntN(3) {
				arm, _ := program(rnd, depth-1, true)
				in.Arms = append(in.Arms, arm)
			}
		case k == 7 && depth > 0:
			in.Op = "loop"
			in.Body, _ = program(rnd, 0, true)
		case k == 8 && depth > 0:
			in.Op = "saga"
			var n int
			in.Body, n = program(rnd, depth-1, inBranch)
			signals += n
		default:
			in.Op = "step"
		}
		p = append(p, in)
	}
	return p, signals
}

// interpret runs a program; its trace is everything a workflow can see.
func interpret(r *flow.Run, p []instr) ([]string, error) {
	var trace []string
	for _, in := range p {
		saw, err := interpretOne(r, in)
		if err != nil && fatal(err) {
			return nil, err
		}
		trace = append(trace, fmt.Sprintf("%s %s: %s %s", in.Op, in.Name, saw, errorTexts(err)))
	}
	return trace, nil
}

func interpretOne(r *flow.Run, in instr) (string, error) {
	switch in.Op {
	case "step":
		v, err := flow.Do[int](r, "echo", in.Name, in.N)
		return fmt.Sprint(v), err
	case "fail":
		_, err := flow.Do[int](r, "fail", in.Name, in.N)
		return "", err
	case "note":
		return "", r.Note("%s", in.Name)
	case "sleep":
		return "", flow.Sleep(r, time.Duration(in.N)*time.Microsecond)
	case "await":
		s, err := flow.AwaitAny(r, in.Name, 0, "even", "odd")
		return s.Name + string(s.Value), err
	case "late":
		_, err := flow.Await[int](r, "never", time.Duration(1+in.N)*time.Microsecond)
		return "", err
	case "call":
		v, err := flow.Call(r, in.Name, interpret, in.Body)
		return fmt.Sprint(v), err
	case "map":
		v, err := flow.Map(r, in.Arms, func(r *flow.Run, arm []instr) ([]string, error) {
			saw, err := interpret(r, arm)
			if err == nil && len(arm)%2 == 1 {
				_, err = flow.Do[int](r, "fail", "arm", nil)
			}
			return saw, err
		})
		return fmt.Sprint(v), err
	case "loop":
		v, err := flow.Call(r, in.Name, func(r *flow.Run, body []instr) ([][]string, error) {
			var done [][]string
			if _, err := flow.Load(r, &done); err != nil {
				return nil, err
			}
			for len(done) < in.N {
				saw, err := interpret(r, body)
				if err != nil {
					return nil, err
				}
				done = append(done, saw)
				if err := flow.Save(r, done); err != nil {
					return nil, err
				}
			}
			return done, nil
		}, in.Body)
		return fmt.Sprint(v), err
	case "saga":
		v, err := flow.Saga(r, func(r *flow.Run, u *flow.Undo) ([]string, error) {
			return sagaOf(r, u, in)
		})
		return fmt.Sprint(v), err
	}
	return "", errors.New("no such instruction " + in.Op)
}

// sagaOf runs the body of a saga up to the first failure; for an odd N it fails in the
// end. Every third action fails.
func sagaOf(r *flow.Run, u *flow.Undo, in instr) (trace []string, err error) {
	for i, one := range in.Body {
		kind := "echo"
		if i%3 == 2 {
			kind = "fail"
		}
		u.Add("undo "+one.Name, func(r *flow.Run) error {
			_, err := flow.Do[int](r, kind, "undo "+one.Name, i)
			return err
		})
		saw, err := interpretOne(r, one)
		if err != nil {
			return trace, err
		}
		trace = append(trace, saw)
	}
	if in.N%2 == 1 {
		_, err = flow.Do[int](r, "fail", "saga", in.N)
	}
	return trace, err
}

// fatal reports that the run ended, as opposed to a step.
func fatal(err error) bool {
	_, step := errors.AsType[*flow.StepError](err)
	return !step
}

// errorTexts is errorText for joined errors.
func errorTexts(err error) string {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		out := ""
		for _, err := range many.Unwrap() {
			out += errorText(err) + ";"
		}
		return out
	}
	return errorText(err)
}

// Differ runs random programs, one for each seed, on two engines, and fails
// if a workflow could tell them apart or the effects differ. Where b can be
// killed, it is, at a random point, and resumed.
func Differ(t *testing.T, seeds int, a, b func(t testing.TB) Harness) {
	ha, hb := a(t), b(t)
	wf := flow.Define("random", interpret)
	_, noKill := hb.Lacks[Kill]
	for seed := range seeds {
		rnd := rand.New(rand.NewPCG(uint64(seed), 1))
		p, signals := program(rnd, 2, false)
		in, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		job := fmt.Sprint("seed", seed)
		for i := range signals {
			sig := flow.Signal{Name: []string{"even", "odd"}[i%2], Value: json.RawMessage(fmt.Sprint(i))}
			ha.Send(t, job, sig)
			hb.Send(t, job, sig)
		}
		var la, lb effects
		q := Request{Workflow: wf, Job: job, Input: in, Mux: la.mux()}
		var points atomic.Int64
		if _, ok := ha.Lacks[Kill]; !ok {
			q.Hook = func(string, flow.Step) { points.Add(1) }
		}
		want := ha.must(t, q)
		q.Mux, q.Hook = lb.mux(), nil
		if n := rnd.IntN(int(points.Load()) + 1); !noKill {
			q.Hook = killAfter(n)
			if _, err := hb.run(t, q); err != nil && err != errKilled {
				t.Fatalf("seed %d, killed at point %d: %v\n%s", seed, n, err, in)
			}
			q.Hook = nil
		}
		got := hb.must(t, q)
		if got != want {
			t.Fatalf("seed %d: the engines differ\n%s\none:   %s\nother: %s", seed, in, want, got)
		}
		ea, eb := la.take(), lb.take()
		if !noKill {
			// What was under way at the kill happened twice.
			ea, eb = slices.Compact(ea), slices.Compact(eb)
		}
		if fmt.Sprint(ea) != fmt.Sprint(eb) {
			t.Fatalf("seed %d: the effects differ\n%s\none:   %v\nother: %v", seed, in, ea, eb)
		}
	}
}
