package workflows_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/workflows"
)

// The patterns of workflows, each as short as it can be said: tested by hand
// here, and shown in docs/workflows.md.

// sequential: the second step begins when the first is done.
func sequential(sc *executor.Scope) error {
	if _, err := sc.Tool("read_file", m{"path": "go.mod"}); err != nil {
		return err
	}
	_, err := sc.Tool("read_file", m{"path": "cart.go"})
	return err
}

// parallel: three workers at once; all finish, whatever becomes of one.
func parallel(sc *executor.Scope) error {
	_, err := sc.SpawnAll(
		executor.SubAgentRequest{Agent: "worker", Prompt: "Task A"},
		executor.SubAgentRequest{Agent: "worker", Prompt: "Task B"},
		executor.SubAgentRequest{Agent: "worker", Prompt: "Task C"},
	)
	return err
}

// conditional: what is hard is thought through, the rest is done.
func conditional(sc *executor.Scope) error {
	analysis, err := executor.AITurn[struct {
		Complexity string `json:"complexity" jsonschema:"enum=high,enum=low"`
		Simplified string `json:"simplified"`
	}](sc, executor.Turn{Prompt: "How hard is this? " + sc.Task.Prompt})
	if err != nil {
		return err
	}
	if analysis.Complexity == "high" {
		_, err = sc.Spawn(executor.SubAgentRequest{Agent: "thinker", Prompt: sc.Task.Prompt})
	} else {
		_, err = sc.Spawn(executor.SubAgentRequest{Agent: "worker", Prompt: analysis.Simplified})
	}
	return err
}

// retryBackoff: three attempts, with a pause that doubles between them.
func retryBackoff(sc *executor.Scope) error {
	const most = 3
	var last error
	for n := range most {
		if n > 0 {
			if err := flow.Sleep(sc.Run, time.Second<<n); err != nil {
				return err
			}
		}
		if _, last = sc.Spawn(executor.SubAgentRequest{Agent: "worker", Prompt: sc.Task.Prompt}); last == nil {
			return nil
		}
		var refused *executor.SpawnError
		if !errors.As(last, &refused) {
			return last // not the worker: the engine
		}
	}
	return fmt.Errorf("failed after %d attempts: %w", most, last)
}

// loopUntil: work, test and fix until tests pass, five times at most.
func loopUntil(sc *executor.Scope) error {
	for range 5 {
		if _, err := sc.Spawn(executor.SubAgentRequest{Agent: "worker", Prompt: sc.Task.Prompt}); err != nil {
			return err
		}
		tests, err := sc.Tool("run_tests", nil)
		if err != nil {
			return err
		}
		if !tests.Failed {
			return nil
		}
		if _, err := sc.Spawn(executor.SubAgentRequest{Agent: "fixer", Prompt: "Fix these tests: " + tests.Text}); err != nil && !errors.As(err, new(*executor.SpawnError)) {
			return err
		}
	}
	return errors.New("tests do not pass after 5 rounds")
}

// fanOut: one review for each focus, their findings together, a fixer for what
// is critical.
func fanOut(sc *executor.Scope) error {
	reviews, err := executor.Parallel(sc, []string{"correctness", "security", "performance"}, func(sc *executor.Scope, focus string) (issues, error) {
		return executor.AITurn[issues](sc, executor.Turn{Prompt: "Review for " + focus})
	})
	if err != nil {
		return err
	}
	var critical []workflows.Finding
	for _, r := range reviews {
		for _, f := range r.Issues {
			if f.Severity == "critical" {
				critical = append(critical, f)
			}
		}
	}
	if len(critical) == 0 {
		return nil
	}
	_, err = sc.Spawn(executor.SubAgentRequest{Agent: "fixer", Prompt: fmt.Sprintf("Fix these: %v", critical)})
	return err
}

type issues struct {
	Issues []workflows.Finding `json:"issues"`
}

// composed: workflows are functions, and one calls another.
func composed(sc *executor.Scope) error {
	if err := sequential(sc); err != nil {
		return err
	}
	return loopUntil(sc)
}

func TestPatterns(t *testing.T) {
	none := answers(m{"issues": []m{}})
	broken := fails("run_tests", "FAIL TestX")
	for _, c := range []struct {
		name   string
		body   func(*executor.Scope) error
		script []line
		err    string
		slept  []string
	}{
		{"sequential", sequential, []line{gives("read_file", "module x").asked("go.mod"), gives("read_file", "package cart").asked("cart.go")}, "", nil},
		{"a tool that fails is a reply", sequential, []line{fails("read_file", "no such file"), gives("read_file", "x")}, "", nil},
		{"parallel", parallel, []line{works("worker", nil).asked("Task A"), works("worker", nil).asked("Task B"), works("worker", nil).asked("Task C")}, "", nil},
		{"parallel, one fails", parallel, []line{works("worker", nil), breaks("worker", "lost"), works("worker", nil)}, "agent worker: stuck: lost", nil},
		{"hard", conditional, []line{answers(m{"complexity": "high", "simplified": ""}), works("thinker", m{"answer": "x"}).asked("Round totals")}, "", nil},
		{"easy", conditional, []line{answers(m{"complexity": "low", "simplified": "Round once."}), works("worker", nil).asked("Round once.")}, "", nil},
		{"an answer that does not fit is sent back once", conditional, []line{answers("high, I think"), answers(m{"complexity": "low", "simplified": "x"}).asked("answer with JSON"), works("worker", nil)}, "", nil},
		{"an answer that never fits", conditional, []line{answers("high"), answers("really")}, "answer with JSON of the schema only", nil},
		{"retry", retryBackoff, []line{breaks("worker", "a"), breaks("worker", "b"), works("worker", nil)}, "", []string{"2s", "4s"}},
		{"retry in vain", retryBackoff, []line{breaks("worker", "a"), breaks("worker", "b"), breaks("worker", "c")}, "failed after 3 attempts: agent worker: stuck: c", []string{"2s", "4s"}},
		{"loop", loopUntil, []line{works("worker", nil), broken, works("fixer", nil).asked("FAIL TestX"), works("worker", nil), broken, breaks("fixer", "no"), works("worker", nil), tests(1)}, "", nil},
		{"loop in vain", loopUntil, slices.Concat(slices.Repeat([]line{works("worker", nil), broken, works("fixer", nil)}, 5)), "tests do not pass after 5 rounds", nil},
		{"fan out, fan in", fanOut, []line{none.asked("Review for correctness"), answers(m{"issues": []m{finding("critical", "security", "a.go", 1, "Hole"), finding("nit", "style", "a.go", 2, "Name")}}), none, works("fixer", nil).asked("Hole")}, "", nil},
		{"fan out, nothing critical", fanOut, []line{none, none, none}, "", nil},
		{"fan out, one fails", fanOut, []line{none, {step: "model", err: errors.New("overloaded")}, none.asked("Review for performance")}, "overloaded", nil},
		{"composed", composed, []line{gives("read_file", "x"), gives("read_file", "y"), works("worker", nil), tests(1)}, "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := agents.Input{Agent: "supervisor", Prompt: "Round totals per cart."}
			task := pinned(t, in)
			task.Done = executor.Criterion{}
			task.Spawn.Allowed = []string{"worker", "fixer", "thinker"}
			var slept []string
			s, err := pullTask(t, agents.Define("pattern", c.body), task, in, func(d string) { slept = append(slept, d) }, c.script...)
			if c.err != "" {
				wantErr(t, err, c.err)
			} else if err != nil || s.Outcome.Status != executor.Done {
				t.Errorf("%v, %+v", err, s.Outcome)
			}
			if !slices.Equal(slept, c.slept) {
				t.Errorf("slept %v, want %v", slept, c.slept)
			}
		})
	}
}
