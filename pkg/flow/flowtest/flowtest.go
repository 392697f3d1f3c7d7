// Package flowtest is the suite every engine passes: these tests
// define what a step, a fork, a signal or a checkpoint means.
//
//	func TestEngine(t *testing.T) { flowtest.Run(t, open) }
//
// It is for authors of engines and journals. Workflows are tested with
// flow.Pull, or with Record and Replay.
package flowtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/flow"
)

// A Request describes a run.
type Request struct {
	Ctx      context.Context
	Workflow flow.Workflow
	Known    []flow.Workflow // that it may run as its children
	Job      string
	Input    json.RawMessage
	Mux      flow.Mux
	Park     bool
	Hook     func(point string, s flow.Step) // may panic; that is the kill
}

// A Harness is an engine with a memory of its jobs.
type Harness struct {
	// Run runs a job, or continues one that was run before. A panic of Hook must come out
	// of it and leave behind what a killed process would.
	Run func(t testing.TB, q Request) (json.RawMessage, error)
	// Send queues a signal for a job, which need not have been run yet.
	Send func(t testing.TB, job string, sig flow.Signal)
	// Lacks lists the abilities that this harness lacks, with the reasons.
	Lacks map[Ability]string
}

// An Ability is something a test needs of a harness.
type Ability string

const (
	Resume Ability = "resume" // run a job again
	Kill   Ability = "kill"   // call Hook
	Park   Ability = "park"
	Stop   Ability = "stop" // heed the end of Ctx
)

// killed is the value with which a Hook panics.
type killed struct{ point, path string }

var errKilled = errors.New("killed")

// run runs q; a kill is errKilled.
func (h Harness) run(t testing.TB, q Request) (out json.RawMessage, err error) {
	t.Helper()
	defer func() {
		if p := recover(); p != nil {
			if _, ok := p.(killed); !ok {
				panic(p)
			}
			out, err = nil, errKilled
		}
	}()
	if q.Ctx == nil {
		q.Ctx = t.Context()
	}
	if q.Job == "" {
		q.Job = "job"
	}
	return h.Run(t, q)
}

// must is run for what has to work.
func (h Harness) must(t testing.TB, q Request) string {
	t.Helper()
	out, err := h.run(t, q)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// effects records the effects that were performed.
type effects struct {
	mu   sync.Mutex
	done []string
}

func (l *effects) add(s string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done = append(l.done, s)
}

// take empties the log and gives what was in it, sorted.
func (l *effects) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := slices.Sorted(slices.Values(l.done))
	l.done = nil
	return out
}

// mux has the steps the suite asks for: "echo" returns its input, "fail" fails
// with a code, both safe; "unsafe" is echo that must not be repeated.
func (l *effects) mux() flow.Mux {
	echo := func(_ context.Context, s flow.Step, _ event.Sink) (json.RawMessage, error) {
		l.add(s.Path + " " + s.Name)
		return s.Input, nil
	}
	return flow.Mux{
		"echo":   {Handler: echo, Safe: flow.Always},
		"unsafe": {Handler: echo},
		"fail": {Safe: flow.Always, Handler: func(_ context.Context, s flow.Step, _ event.Sink) (json.RawMessage, error) {
			l.add(s.Path + " " + s.Name)
			return nil, &flow.Failure{Code: "no_such_file", Message: "no " + s.Name}
		}},
	}
}

// errorText renders an error as a workflow saw it, for the workflow's result.
func errorText(err error) string {
	if e, ok := errors.AsType[*flow.StepError](err); ok {
		return fmt.Sprintf("%s|%s|%s|%s|%s|%v", e.Path, e.Kind, e.Name, e.Code, e.Message, e.Retryable)
	}
	return fmt.Sprint(err)
}

func equal(t testing.TB, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %s, want %s", what, got, want)
	}
}

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

// Run runs the suite. open gives a fresh harness for each test.
func Run(t *testing.T, open func(t testing.TB) Harness) {
	lacks := open(t).Lacks
	for _, c := range []struct {
		name  string
		test  func(t *testing.T, h Harness)
		needs []Ability
	}{
		{"steps", steps, nil},
		{"failures are data", failures, nil},
		{"failures are recalled", recalledFailures, []Ability{Resume}},
		{"branches keep order and finish", branches, nil},
		{"branches run at once", together, nil},
		{"calls have scopes", calls, nil},
		{"children", children, nil},
		{"retries", retries, nil},
		{"panic in a handler", panics, nil},
		{"replay performs nothing", replay, []Ability{Resume}},
		{"divergence", divergence, []Ability{Resume}},
		{"stopping is no outcome", stopping, []Ability{Stop, Resume}},
		{"sleep", sleeps, nil},
		{"sleep waits only the rest", rest, []Ability{Kill, Resume}},
		{"signals are a queue", queue, nil},
		{"signals by name", byName, nil},
		{"signals are consumed once", once, []Ability{Resume}},
		{"a signal of another type is refused", wrongType, nil},
		{"signal while waiting", meanwhile, nil},
		{"await times out", timeouts, nil},
		{"parking", parking, []Ability{Park, Resume}},
		{"brief waits are not parked", brief, []Ability{Park}},
		{"parked is not refused", refusal, []Ability{Park, Resume}},
		{"interrupted", interrupted, []Ability{Kill, Resume}},
		{"kill at every point", killAnywhere, []Ability{Kill, Resume}},
		{"checkpoint resumes in its turn", checkpoint, []Ability{Kill, Resume}},
		{"kill at every point of children", killChildren, []Ability{Kill, Resume}},
		{"checkpoint in nested scopes", nested, []Ability{Kill, Resume}},
		{"a thousand turns", thousand, nil},
		{"a saga takes back, the last first", saga, nil},
		{"a stopped saga takes nothing back", heldSaga, []Ability{Park, Resume}},
		{"kill in branches of branches and a saga", killDeep, []Ability{Kill, Resume}},
	} {
		// A test of an ability that the engine lacks is logged and does not count as
		// skipped.
		if a := slices.IndexFunc(c.needs, func(a Ability) bool { return lacks[a] != "" }); a >= 0 {
			t.Logf("%s: %s", c.name, lacks[c.needs[a]])
			continue
		}
		t.Run(c.name, func(t *testing.T) { c.test(t, open(t)) })
	}
}
