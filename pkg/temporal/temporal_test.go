package temporal

import (
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/flow/flowtest"
)

// harness runs a job in the SDK's test environment. With long, every
// checkpoint outside of branches continues as new, which this follows.
func harness(long bool) func(testing.TB) flowtest.Harness {
	return func(testing.TB) flowtest.Harness {
		var mu sync.Mutex
		early := map[string][]flow.Signal{}
		running := map[string]*testsuite.TestWorkflowEnvironment{}
		const no = "the SDK's test environment keeps no history to resume from; needs a server"
		return flowtest.Harness{
			Lacks: map[flowtest.Ability]string{
				flowtest.Resume: no, flowtest.Kill: no,
				flowtest.Park: "a waiting workflow costs nothing on Temporal, so it is never parked",
				flowtest.Stop: "a stopped worker is not the end of a run on Temporal",
			},
			Send: func(_ testing.TB, job string, sig flow.Signal) {
				mu.Lock()
				defer mu.Unlock()
				if env, ok := running[job]; ok {
					env.SignalWorkflow(Signals, sig)
					return
				}
				early[job] = append(early[job], sig)
			},
			Run: func(t testing.TB, q flowtest.Request) (json.RawMessage, error) {
				for c := Start(q.Input); ; {
					var suite testsuite.WorkflowTestSuite
					suite.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
					env := suite.NewTestWorkflowEnvironment()
					env.SetStartWorkflowOptions(client.StartWorkflowOptions{ID: q.Job})
					env.SetTestTimeout(time.Minute)
					o := Options{Mux: q.Mux}
					if long {
						env.SetCurrentHistoryLength(5000)
					}
					Register(env, o, append([]flow.Workflow{q.Workflow}, q.Known...)...)
					mu.Lock()
					running[q.Job] = env
					sent := early[q.Job]
					delete(early, q.Job)
					mu.Unlock()
					env.RegisterDelayedCallback(func() {
						for _, sig := range sent {
							env.SignalWorkflow(Signals, sig)
						}
					}, 0)
					env.ExecuteWorkflow(q.Workflow.Name, c)
					mu.Lock()
					delete(running, q.Job)
					mu.Unlock()
					err := env.GetWorkflowError()
					if next, ok := errors.AsType[*workflow.ContinueAsNewError](err); ok {
						var more carry
						if err := converter.GetDefaultDataConverter().FromPayloads(next.Input, &more); err != nil {
							t.Fatal(err)
						}
						c = more
						continue
					}
					if err != nil {
						return nil, err
					}
					var out json.RawMessage
					return out, env.GetWorkflowResult(&out)
				}
			},
		}
	}
}

func TestEngine(t *testing.T) { flowtest.Run(t, harness(false)) }

// TestLong is the suite with every checkpoint a new execution.
func TestLong(t *testing.T) { flowtest.Run(t, harness(true)) }

func memory(testing.TB) flowtest.Harness {
	j := new(flow.Memory)
	return flowtest.Harness{
		Run: func(_ testing.TB, q flowtest.Request) (json.RawMessage, error) { return flowtest.Local(j, q) },
		Send: func(t testing.TB, job string, sig flow.Signal) {
			if err := j.Send(t.Context(), job, sig); err != nil {
				t.Error(err)
			}
		},
	}
}

// TestDiffer runs random programs on memory and on Temporal.
func TestDiffer(t *testing.T) {
	seeds := 60
	if testing.Short() {
		seeds = 10
	}
	flowtest.Differ(t, seeds, memory, harness(false))
	flowtest.Differ(t, seeds, memory, harness(true))
}
