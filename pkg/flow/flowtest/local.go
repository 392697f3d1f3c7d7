package flowtest

import (
	"encoding/json"

	"github.com/adroit-run/adroit/pkg/flow"
)

// Local runs q with the local engine on j: what a Harness for a journal needs.
func Local(j flow.Journal, q Request) (json.RawMessage, error) {
	e := flow.NewLocal(q.Ctx, j, q.Mux, nil)
	e.Park, e.Hook = q.Park, q.Hook
	out, err := q.Workflow.Run(flow.NewRun(q.Job, e).With(q.Known...), q.Input)
	if e.Ended() != nil {
		return nil, e.Ended()
	}
	return out, err
}
