package flow_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"testing"

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
