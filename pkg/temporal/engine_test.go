package temporal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/flow/flowtest"
	"github.com/adroit-run/adroit/pkg/jobs"
)

var lacks = map[flowtest.Ability]string{
	flowtest.Kill:   "the suite kills within the process",
	flowtest.Resume: "the suite runs a job again that has ended",
	flowtest.Park:   "a workflow that waits costs nothing",
	flowtest.Stop:   "a worker that is stopped is not the end of a run",
}

// host is a worker of the workflows of one request, over a store in memory.
func host(t testing.TB, q flowtest.Request, name string) *Worker {
	m := &jobs.Manager{
		Store: new(jobs.Memory), Workflows: append([]flow.Workflow{q.Workflow}, q.Known...),
		Mux: func(context.Context, *jobs.Job, flow.Blobs) (flow.Mux, func(), error) { return q.Mux, nil, nil },
	}
	if _, err := m.Submit(t.Context(), &jobs.Job{ID: q.Job, Workflow: q.Workflow.Name, Input: q.Input}); err != nil {
		t.Fatal(err)
	}
	return &Worker{o: Options{Host: name}, known: m.Workflows, store: m.Store,
		attend: func(ctx context.Context, id, note string, _ int) (*jobs.Session, error) {
			return m.Attend(ctx, id, jobs.RunOptions{Reopened: note})
		}}
}

func (w *Worker) carry(q flowtest.Request, early []flow.Signal, long int) Carry {
	var queue []letter
	for _, sig := range early {
		queue = append(queue, letter{Signal: sig})
	}
	return Carry{Placed: Placed{Host: w.o.Host, Job: q.Job, Workflow: q.Workflow.Name, Input: q.Input}, Queue: queue, Long: long}
}

// TestEngineInProcess runs the suite of every engine on the SDK's environment.
func TestEngineInProcess(t *testing.T) {
	flowtest.Run(t, func(testing.TB) flowtest.Harness {
		var mu sync.Mutex
		var early []flow.Signal
		send := func(sig flow.Signal) { early = append(early, sig) }
		return flowtest.Harness{
			Lacks: lacks,
			Send: func(_ testing.TB, _ string, sig flow.Signal) {
				mu.Lock()
				defer mu.Unlock()
				send(sig)
			},
			Run: func(t testing.TB, q flowtest.Request) (out json.RawMessage, err error) {
				w := host(t, q, "here")
				w.ctx, w.stop = context.WithCancelCause(context.Background())
				w.open = map[string]*held{}
				var suite testsuite.WorkflowTestSuite
				suite.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
				env := suite.NewTestWorkflowEnvironment()
				env.SetTestTimeout(patience)
				w.register(env, env)
				mu.Lock()
				send = func(sig flow.Signal) { env.SignalWorkflow(signalName, sig) }
				mu.Unlock()
				env.ExecuteWorkflow("job", w.carry(q, early, 0))
				if err := env.GetWorkflowError(); err != nil {
					return nil, plain(err)
				}
				return out, env.GetWorkflowResult(&out)
			},
		}
	})
}

// plain is the error that the workflow's function returned.
func plain(err error) error {
	if ended := new(temporal.ApplicationError); errors.As(err, &ended) {
		return errors.New(ended.Message())
	}
	return err
}

// TestEngine runs the suite on a real server; with TEMPORAL_LONG=30 in executions of 30 events.
func TestEngine(t *testing.T) {
	long, _ := strconv.Atoi(os.Getenv("TEMPORAL_LONG"))
	r := served(t)
	var c client.Client
	until(t, func() (err error) {
		c, err = client.Dial(client.Options{HostPort: r.address, Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler))})
		return err
	})
	t.Cleanup(c.Close)
	flowtest.Run(t, func(testing.TB) flowtest.Harness {
		var early []flow.Signal
		send := func(sig flow.Signal) error { early = append(early, sig); return nil }
		return flowtest.Harness{
			Lacks: lacks,
			Send: func(t testing.TB, _ string, sig flow.Signal) {
				if err := send(sig); err != nil {
					t.Error(err)
				}
			},
			Run: func(t testing.TB, q flowtest.Request) (out json.RawMessage, err error) {
				name := fmt.Sprint("test-", time.Now().UnixNano())
				w := host(t, q, name)
				w.o.Queue = name + "-shared"
				w.on(c)
				if err := w.Start(); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(w.Stop)
				run, err := c.ExecuteWorkflow(q.Ctx, client.StartWorkflowOptions{ID: name, TaskQueue: w.o.Queue}, "job", w.carry(q, early, long))
				if err != nil {
					t.Fatal(err)
				}
				send = func(sig flow.Signal) error { return c.SignalWorkflow(q.Ctx, name, "", signalName, sig) }
				if err := run.Get(q.Ctx, &out); err != nil {
					return nil, plain(err)
				}
				return out, nil
			},
		}
	})
}
