package flowtest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/flow/flowtest"
)

// The patterns of workflows, each as a function that a reader can copy. They
// ask for steps of the kinds "tool", "agent" and "model" that TestPatterns
// serves.

// inOrder: a step begins when the one before it is done.
func inOrder(r *flow.Run, files []string) (string, error) {
	var all []string
	for _, file := range files {
		text, err := flow.Do[string](r, "tool", "read_file", file)
		if err != nil {
			return "", err
		}
		all = append(all, text)
	}
	return strings.Join(all, " "), nil
}

// atOnce: branches run together, and those that fail leave the others alone.
func atOnce(r *flow.Run, tasks []string) ([]string, error) {
	outs, err := flow.Map(r, tasks, func(r *flow.Run, task string) (string, error) {
		return flow.Do[string](r, "agent", "worker", task)
	})
	if _, failed := errors.AsType[*flow.StepError](err); failed {
		err = nil // what the others did is worth having
	}
	return outs, err
}

// either: what a model found decides in code what comes next.
func either(r *flow.Run, task string) (string, error) {
	size, err := flow.Do[string](r, "agent", "planner", task)
	if err != nil {
		return "", err
	}
	if size == "high" {
		return flow.Do[string](r, "agent", "thinker", task)
	}
	return flow.Do[string](r, "agent", "worker", task)
}

// again: attempts with a pause between them that doubles, and an analysis of
// what went wrong for the next one. An error of a step is caught here.
func again(r *flow.Run, task string) (string, error) {
	const attempts = 3
	pause := time.Millisecond
	for n := 1; ; n++ {
		out, err := flow.Do[string](r, "agent", "worker", task)
		failed, ok := errors.AsType[*flow.StepError](err)
		if err == nil || !ok {
			return out, err
		}
		if n == attempts {
			return "", fmt.Errorf("failed after %d attempts: %w", n, failed)
		}
		if err := flow.Sleep(r, pause); err != nil {
			return "", err
		}
		pause *= 2
		task, err = flow.Do[string](r, "model", "analyse", failed.Message)
		if err != nil {
			return "", err
		}
	}
}

// until: work, test, fix, as often as there is a point in it.
func until(r *flow.Run, task string) (int, error) {
	for n := 1; n <= 5; n++ {
		if _, err := flow.Do[string](r, "agent", "worker", task); err != nil {
			return n, err
		}
		out, err := flow.Do[string](r, "tool", "run_tests", n)
		if err != nil {
			return n, err
		}
		if out == "ok" {
			return n, nil
		}
		if _, err := flow.Do[string](r, "agent", "fixer", "Fix test failures: "+out); err != nil {
			return n, err
		}
	}
	return 5, errors.New("the tests still fail")
}

// outAndIn: reviews of one thing from several sides, and what they say put
// together, in an order that does not depend on who was first.
func outAndIn(r *flow.Run, sides []string) (string, error) {
	found, err := flow.Map(r, sides, func(r *flow.Run, side string) ([]string, error) {
		return flow.Call(r, "review", func(r *flow.Run, side string) ([]string, error) {
			text, err := flow.Do[string](r, "agent", "reviewer", side)
			if err != nil || text == "" {
				return nil, err
			}
			return flow.Map(r, strings.Fields(text), func(r *flow.Run, issue string) (string, error) {
				return flow.Do[string](r, "model", "judge", issue)
			})
		}, side)
	})
	if err != nil {
		return "", err
	}
	var critical []string
	for _, issues := range found {
		for _, issue := range issues {
			if strings.HasPrefix(issue, "critical") {
				critical = append(critical, issue)
			}
		}
	}
	if len(critical) == 0 {
		return "clean", nil
	}
	return flow.Do[string](r, "agent", "fixer", strings.Join(critical, ", "))
}

// world serves the steps of the patterns: the same each time, whoever asks.
var world = func() flow.Mux {
	answer := func(s flow.Step) (string, error) {
		in := strings.Trim(string(s.Input), `"`)
		switch called := s.Kind + " " + s.Name; {
		case called == "tool run_tests" && in == "1":
			return "one failed", nil
		case called == "tool run_tests":
			return "ok", nil
		case called == "agent planner" && in == "rewrite":
			return "high", nil
		case called == "agent worker" && strings.HasPrefix(in, "hard"):
			return "", &flow.Failure{Code: "stuck", Message: "stuck at " + in}
		case called == "model analyse" && !strings.Contains(in, "hardest"):
			return "easier", nil
		case called == "model analyse":
			return "hardest", nil
		case called == "agent reviewer" && in == "security":
			return "injection typo", nil
		case called == "agent reviewer":
			return "", nil
		case called == "model judge" && in == "injection":
			return "critical injection", nil
		}
		return s.Name + " did " + in, nil
	}
	route := flow.Route{Safe: flow.Always, Handler: func(_ context.Context, s flow.Step, _ event.Sink) (json.RawMessage, error) {
		out, err := answer(s)
		if err != nil {
			return nil, err
		}
		return json.Marshal(out)
	}}
	return flow.Mux{"tool": route, "agent": route, "model": route}
}()

func TestPatterns(t *testing.T) {
	type lines = []flowtest.Line
	pattern(t, "in order", inOrder, []string{"package.json", "tsconfig.json"}, `"read_file did package.json read_file did tsconfig.json", <nil>`, lines{
		{Step: "tool read_file", In: "package.json", Out: "read_file did package.json"},
		{Step: "tool read_file", In: "tsconfig.json", Out: "read_file did tsconfig.json"},
	})
	pattern(t, "at once", atOnce, []string{"A", "hard B", "C"}, `["worker did A","","worker did C"], <nil>`, lines{
		{Step: "agent worker", In: "A", Out: "worker did A"},
		{Step: "agent worker", In: "hard B", Err: errors.New("stuck")},
		{Step: "agent worker", In: "C", Out: "worker did C"},
	})
	pattern(t, "either", either, "rewrite", `"thinker did rewrite", <nil>`, lines{
		{Step: "agent planner", Out: "high"},
		{Step: "agent thinker", Out: "thinker did rewrite"},
	})
	pattern(t, "or", either, "rename", `"worker did rename", <nil>`, lines{
		{Step: "agent planner", Out: "low"},
		{Step: "agent worker", Out: "worker did rename"},
	})
	pattern(t, "again", again, "hard", `"worker did easier", <nil>`, lines{
		{Step: "agent worker", In: "hard", Err: errors.New("stuck at hard")},
		{Step: "model analyse", In: "stuck at hard", Out: "easier"},
		{Step: "agent worker", In: "easier", Out: "worker did easier"},
	})
	pattern(t, "again in vain", again, "hardest", `"", failed after 3 attempts: step 6 (agent worker): stuck at hardest`, lines{
		{Step: "agent worker", Err: errors.New("stuck at hardest")},
		{Step: "model analyse", Out: "hardest"},
		{Step: "agent worker", Err: errors.New("stuck at hardest")},
		{Step: "model analyse", Out: "hardest"},
		{Step: "agent worker", Err: errors.New("stuck at hardest")},
	})
	pattern(t, "until", until, "add it", `2, <nil>`, lines{
		{Step: "agent worker"},
		{Step: "tool run_tests", Out: "one failed"},
		{Step: "agent fixer", In: "Fix test failures: one failed"},
		{Step: "agent worker"},
		{Step: "tool run_tests", Out: "ok"},
	})
	pattern(t, "out and in", outAndIn, []string{"correctness", "security", "performance"}, `"fixer did critical injection", <nil>`, lines{
		{Step: "agent reviewer", In: "correctness", Out: ""},
		{Step: "agent reviewer", In: "security", Out: "injection typo"},
		{Step: "model judge", In: "injection", Out: "critical injection"},
		{Step: "model judge", In: "typo", Out: "minor"},
		{Step: "agent reviewer", In: "performance", Out: ""},
		{Step: "agent fixer", In: "critical injection", Out: "fixer did critical injection"},
	})
}

// pattern plays f by hand, runs it, and kills it at each of its points.
func pattern[In, Out any](t *testing.T, name string, f func(*flow.Run, In) (Out, error), in In, want string, script []flowtest.Line) {
	t.Run(name, func(t *testing.T) {
		show := func(out any, err error) string {
			b, merr := json.Marshal(out)
			if merr != nil {
				t.Fatal(merr)
			}
			return fmt.Sprintf("%s, %v", b, err)
		}
		out, err := flowtest.Play(t, f, in, script...)
		if got := show(out, err); got != want {
			t.Errorf("played: %s, want %s", got, want)
		}
		b, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		q := flowtest.Request{Ctx: t.Context(), Workflow: flow.Define(name, f), Job: name, Input: b, Mux: world}
		got, err := flowtest.Local(new(flow.Memory), q)
		if got := show(got, err); got != want {
			t.Errorf("run: %s, want %s", got, want)
		}
		flowtest.Crash(t, memory(t), q)
	})
}
