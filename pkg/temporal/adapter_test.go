package temporal

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/adroit-run/adroit/internal/flow/stepkind"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/flow"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"
)

// TestCarry looks at what one execution hands to the next: the state, the
// steps outside of its scope, and the signal nobody has read.
func TestCarry(t *testing.T) {
	wf := flow.Define("carry", func(r *flow.Run, _ any) (string, error) {
		if _, err := flow.Do[string](r, "echo", "outside", "kept"); err != nil {
			return "", err
		}
		return flow.Call(r, "inner", func(r *flow.Run, _ int) (string, error) {
			var turn int
			if _, err := flow.Load(r, &turn); err != nil {
				return "", err
			}
			if _, err := flow.Do[string](r, "echo", "inside", "dropped"); err != nil {
				return "", err
			}
			return "", flow.Save(r, turn+1)
		}, 0)
	})
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	env.SetCurrentHistoryLength(100)
	Register(env, Options{LongHistory: 10, Mux: flow.Mux{"echo": {Handler: echo}}}, wf)
	env.RegisterDelayedCallback(func() { env.SignalWorkflow(Signals, flow.Signal{Name: "go"}) }, 0)
	env.ExecuteWorkflow("carry", Start(json.RawMessage("1")))
	next, ok := errors.AsType[*workflow.ContinueAsNewError](env.GetWorkflowError())
	if !ok {
		t.Fatalf("ended with %v, want to continue as new", env.GetWorkflowError())
	}
	var c carry
	if err := converter.GetDefaultDataConverter().FromPayloads(next.Input, &c); err != nil {
		t.Fatal(err)
	}
	if len(c.Records) != 2 || string(c.Records["0"].Output) != `"kept"` || c.Records["1"].Kind != stepkind.Call {
		t.Errorf("records %+v, want the step outside and the call", c.Records)
	}
	if st := c.States["1."]; string(st.Value) != "1" || st.Next != 1 {
		t.Errorf("states %+v", c.States)
	}
	if len(c.Queue) != 1 || c.Queue[0].Name != "go" || string(c.Input) != "1" {
		t.Errorf("queue %+v, input %s", c.Queue, c.Input)
	}
}

func echo(_ context.Context, s flow.Step, _ event.Sink) (json.RawMessage, error) { return s.Input, nil }

// TestUnsafe has a worker die in a step that must not be repeated, as Temporal
// reports it: one attempt, and the workflow is told.
func TestUnsafe(t *testing.T) {
	for _, c := range []struct {
		safe     func(flow.Step) bool
		attempts int
	}{{nil, 1}, {flow.Always, tries}} {
		var ids []string
		mux := flow.Mux{"write.file": {Safe: c.safe, Timeout: time.Second, Handler: func(ctx context.Context, s flow.Step, _ event.Sink) (json.RawMessage, error) {
			info := activity.GetInfo(ctx)
			ids = append(ids, info.ActivityID)
			if strings.Contains(info.ActivityType.Name, ".") {
				t.Errorf("activity type %q has a dot", info.ActivityType.Name)
			}
			return nil, nil
		}}}
		wf := flow.Define("unsafe", func(r *flow.Run, in string) (string, error) {
			_, err := flow.Do[string](r, "write.file", "a", in)
			if e, ok := errors.AsType[*flow.StepError](err); ok {
				return e.Code, nil
			}
			return "", err
		})
		var suite testsuite.WorkflowTestSuite
		env := suite.NewTestWorkflowEnvironment()
		n := 0
		env.SetOnActivityStartedListener(func(*activity.Info, context.Context, converter.EncodedValues) { n++ })
		Register(dying{env}, Options{Mux: mux}, wf)
		env.ExecuteWorkflow("unsafe", Start(json.RawMessage(`"x"`)))
		var code string
		if err := errors.Join(env.GetWorkflowError(), env.GetWorkflowResult(&code)); err != nil || code != flow.Interrupted {
			t.Errorf("code %q, %v; want %q", code, err, flow.Interrupted)
		}
		if n != c.attempts {
			t.Errorf("%d attempts, want %d", n, c.attempts)
		}
		if len(ids) != n || len(ids) == 0 || !strings.HasPrefix(ids[0], "0#") {
			t.Errorf("activity ids %q", ids)
		}
	}
}

// dying performs activities and then loses the answer like a worker that died.
type dying struct {
	*testsuite.TestWorkflowEnvironment
}

func (d dying) RegisterDynamicActivity(a any, o activity.DynamicRegisterOptions) {
	perform := a.(func(context.Context, converter.EncodedValues) (outcome, error))
	d.TestWorkflowEnvironment.RegisterDynamicActivity(func(ctx context.Context, args converter.EncodedValues) (outcome, error) {
		if _, err := perform(ctx, args); err != nil {
			return outcome{}, err
		}
		return outcome{}, temporal.NewHeartbeatTimeoutError()
	}, o)
}
