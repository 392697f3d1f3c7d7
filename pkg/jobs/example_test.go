package jobs_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// A manager runs workflows as jobs of a store. The job below parks until
// somebody approves, and goes on where it was.
func Example() {
	shout := flow.Define("shout", func(r *flow.Run, text string) (string, error) {
		if _, err := flow.Await[string](r, "approve", 0); err != nil {
			return "", err
		}
		return flow.Do[string](r, "upper", "text", text)
	})
	m := &jobs.Manager{
		Store:     new(jobs.Memory),
		Workflows: []flow.Workflow{shout},
		Mux: func(context.Context, *jobs.Job, flow.Blobs) (flow.Mux, func(), error) {
			upper := func(_ context.Context, s flow.Step, _ event.Sink) (json.RawMessage, error) {
				return json.RawMessage(strings.ToUpper(string(s.Input))), nil
			}
			return flow.Mux{"upper": {Handler: upper, Safe: flow.Always}}, nil, nil
		},
	}
	ctx := context.Background()
	j, err := m.Submit(ctx, &jobs.Job{Workflow: "shout", Input: json.RawMessage(`"hello"`)})
	if err != nil {
		fmt.Println(err)
		return
	}
	if j, err = m.Run(ctx, j.ID, jobs.RunOptions{Park: true}); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(j.Status)
	if j, err = jobs.Find(ctx, m.Store, j.ID); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(j.Questions[0].Signals)

	if err := m.Store.Send(ctx, j.ID, flow.Signal{Name: "approve"}); err != nil {
		fmt.Println(err)
		return
	}
	j, err = m.Resume(ctx, j.ID, jobs.RunOptions{Park: true})
	fmt.Println(j.Status, string(j.Output), err)
	// Output:
	// waiting
	// [approve]
	// done "HELLO" <nil>
}
