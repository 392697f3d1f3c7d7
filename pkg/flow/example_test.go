package flow_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/flow"
)

// A trip of which one part cannot be had: what was booked is cancelled.
func ExampleSaga() {
	mux := flow.Mux{
		"book": {Handler: func(_ context.Context, s flow.Step, _ event.Sink) (json.RawMessage, error) {
			if s.Name == "room" {
				return nil, &flow.Failure{Code: "full", Message: "no room left"}
			}
			fmt.Println("booked the", s.Name)
			return nil, nil
		}},
		"cancel": {Safe: flow.Always, Handler: func(_ context.Context, s flow.Step, _ event.Sink) (json.RawMessage, error) {
			fmt.Println("cancelled the", s.Name)
			return nil, nil
		}},
	}
	trip := func(r *flow.Run, parts []string) (int, error) {
		return flow.Saga(r, func(r *flow.Run, u *flow.Undo) (int, error) {
			for n, part := range parts {
				u.Add("cancel the "+part, func(r *flow.Run) error {
					_, err := flow.Do[any](r, "cancel", part, nil)
					return err
				})
				if _, err := flow.Do[any](r, "book", part, nil); err != nil {
					return n, err
				}
			}
			return len(parts), nil
		})
	}
	r := flow.NewRun("J1", flow.NewLocal(context.Background(), new(flow.Memory), mux, nil))
	n, err := trip(r, []string{"flight", "car", "room"})
	fmt.Println(n, "booked:", err)
	// Output:
	// booked the flight
	// booked the car
	// cancelled the room
	// cancelled the car
	// cancelled the flight
	// 2 booked: step 2 (book room): no room left
}
