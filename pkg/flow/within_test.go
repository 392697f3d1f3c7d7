package flow_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/flow"
)

// TestWithin bounds steps together: the first fits, the second is cut off, and
// the third does not begin. Outside there is no bound, and what failed inside is
// recalled as it was.
func TestWithin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := 0
		mux := flow.Mux{"work": {Attempts: 3, Handler: func(ctx context.Context, s flow.Step, _ event.Sink) (json.RawMessage, error) {
			begun++
			var d time.Duration
			if err := json.Unmarshal(s.Input, &d); err != nil {
				return nil, err
			}
			select {
			case <-time.After(d):
				return json.RawMessage(`"done"`), nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}}}
		body := func(r *flow.Run, _ struct{}) ([]string, error) {
			var out []string
			do := func(r *flow.Run, d time.Duration) error {
				got, err := flow.Do[string](r, "work", d.String(), d)
				var se *flow.StepError
				if errors.As(err, &se) {
					got, err = se.Code, nil
				}
				out = append(out, got)
				return err
			}
			_, err := flow.Within(r, 10*time.Second, func(r *flow.Run) (struct{}, error) {
				if err := do(r, 6*time.Second); err != nil {
					return struct{}{}, err
				}
				// In a scope of its own, the bound still holds.
				return flow.Call(r, "inner", func(r *flow.Run, _ struct{}) (struct{}, error) {
					return struct{}{}, errors.Join(do(r, 6*time.Second), do(r, time.Second))
				}, struct{}{})
			})
			if err != nil {
				return nil, err
			}
			return out, do(r, time.Minute)
		}
		journal := new(flow.Memory)
		want := `["done","timed_out","timed_out","done"]`
		for range 2 {
			start := time.Now()
			out, err := flow.Define("w", body).Run(flow.NewRun("J", flow.NewLocal(t.Context(), journal, mux, nil)), nil)
			if err != nil {
				t.Fatal(err)
			}
			if string(out) != want {
				t.Errorf("got %s, want %s", out, want)
			}
			if took := time.Since(start); took != 0 && took != 70*time.Second {
				t.Errorf("it took %s", took)
			}
		}
		if begun != 3 {
			t.Errorf("%d steps were begun, want 3", begun)
		}
	})
}
