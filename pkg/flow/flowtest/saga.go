package flowtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/adroit-run/adroit/pkg/flow"
)

// trip does one step after the other and takes all back if one fails. It fails
// at "lost"; taking back "stuck" fails.
func trip(r *flow.Run, legs []string) (string, error) {
	return flow.Saga(r, func(r *flow.Run, u *flow.Undo) (string, error) {
		done := ""
		for _, leg := range legs {
			u.Add("take back "+leg, func(r *flow.Run) error {
				kind := "echo"
				if leg == "stuck" {
					kind = "fail"
				}
				_, err := flow.Do[string](r, kind, "undo "+leg, leg)
				return err
			})
			kind := "echo"
			if leg == "lost" {
				kind = "fail"
			}
			leg, err := flow.Do[string](r, kind, leg, leg)
			if err != nil {
				return done, err
			}
			done += leg
		}
		return done, nil
	})
}

// reportTrip runs trip and returns its outcome as a value, so that the job does
// not fail.
func reportTrip(r *flow.Run, legs []string) (string, error) {
	done, err := trip(r, legs)
	if err != nil && fatalDeep(err) {
		return "", err
	}
	return fmt.Sprintf("%s: %v", done, err), nil
}

// fatalDeep is fatal for joined errors: one error that no step returned is enough.
func fatalDeep(err error) bool {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		for _, err := range many.Unwrap() {
			if fatalDeep(err) {
				return true
			}
		}
		return false
	}
	return fatal(err)
}

func saga(t *testing.T, h Harness) {
	var log effects
	run := func(job string, legs ...string) string {
		in, err := json.Marshal(legs)
		if err != nil {
			t.Fatal(err)
		}
		return h.must(t, Request{Job: job, Workflow: flow.Define("saga", reportTrip), Input: in, Mux: log.mux()})
	}
	equal(t, "nothing failed", run("good", "a", "b"), `"ab: \u003cnil\u003e"`)
	equal(t, "effects", fmt.Sprint(log.take()), "[0 a 1 b]")
	// The step that failed is taken back too: it may have happened.
	equal(t, "failed", run("bad", "a", "b", "lost", "c"), `"ab: step 2 (fail lost): no lost"`)
	equal(t, "effects of failing", fmt.Sprint(log.take()), "[0 a 1 b 2 lost 3.0 undo lost 4.0 undo b 5.0 undo a]")
	equal(t, "failed twice", run("worse", "a", "stuck", "lost"),
		`"astuck: step 2 (fail lost): no lost\ntake back stuck: step 4.0 (fail undo stuck): no undo stuck"`)
	equal(t, "effects of failing twice", fmt.Sprint(log.take()), "[0 a 1 stuck 2 lost 3.0 undo lost 4.0 undo stuck 5.0 undo a]")
}

// heldSaga waits for a person in a saga: as long as nobody answers, nothing is
// taken back.
func heldSaga(t *testing.T, h Harness) {
	var log effects
	wf := flow.Define("held saga", func(r *flow.Run, _ any) (string, error) {
		return flow.Saga(r, func(r *flow.Run, u *flow.Undo) (string, error) {
			u.Add("take back", func(r *flow.Run) error {
				_, err := flow.Do[string](r, "echo", "undo", "")
				return err
			})
			if _, err := flow.Do[string](r, "echo", "do", ""); err != nil {
				return "", err
			}
			yes, err := flow.Await[bool](r, "go on", 0)
			if err == nil && !yes {
				err = errors.New("somebody said no")
			}
			return "", err
		})
	})
	q := Request{Workflow: wf, Mux: log.mux(), Park: true}
	for range 2 {
		if _, err := h.run(t, q); err == nil {
			t.Fatal("the run ended without an answer")
		} else if _, ok := errors.AsType[*flow.ParkedError](err); !ok {
			t.Fatal(err)
		}
	}
	equal(t, "effects while parked", fmt.Sprint(log.take()), "[0 do]")
	send(t, h, "go on", false)
	if _, err := h.run(t, q); err == nil || err.Error() != "somebody said no" {
		t.Errorf("refused: %v", err)
	}
	equal(t, "effects of the answer", fmt.Sprint(log.take()), "[2.0 undo]")
}

// deep has branches in a branch, calls in all, and in them sagas that fail.
func deep(r *flow.Run, depth int) (string, error) {
	if depth == 0 {
		return reportTrip(r, []string{"stuck", "lost"})
	}
	outs, err := flow.Map(r, []string{"l", "r"}, func(r *flow.Run, side string) (string, error) {
		first, err := flow.Do[string](r, "echo", side, side)
		if err != nil {
			return "", err
		}
		down := depth - 1
		if side == "r" {
			down = 0
		}
		below, err := flow.Call(r, "below", deep, down)
		if err == nil && side == "r" {
			_, err = flow.Do[string](r, "fail", side, "")
		}
		return first + below, err
	})
	if err != nil && fatalDeep(err) {
		return "", err
	}
	return fmt.Sprint(outs, errorTexts(err)), nil
}

func killDeep(t *testing.T, h Harness) {
	var log effects
	// Two branches in the left one, and the right one: three work at once.
	if n := crash(t, h, Request{Workflow: flow.Define("deep", deep), Input: json.RawMessage("2"), Mux: log.mux()}, &log, 3); n < 80 {
		t.Errorf("only %d points", n)
	}
}
