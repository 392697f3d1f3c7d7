// Package workflows has the workflows that ship beside the agent loop, and is
// an example of how to write one: a Go function that gets an agent's task and
// decides by itself what comes next.
//
//	var Greet = agents.Define("greet", func(sc *executor.Scope) error {
//		names, err := sc.Tool("read_file", map[string]string{"path": "names.txt"})
//		if err != nil {
//			return err
//		}
//		_, err = executor.AITurn[string](sc, executor.Turn{Prompt: "Greet them: " + names.Text})
//		return err
//	})
//
// An agent file with workflow: greet lists which tools it has, what it may take
// and when it is done; adroit run runs it like any other agent. The function is
// replayed: no clocks, randomness, goroutines, environment or map order.
package workflows

import (
	"errors"
	"strings"

	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/workflows/coordinator"
)

// All are the workflows that ship.
func All() []flow.Workflow {
	return []flow.Workflow{blogWorkflow, podcastWorkflow, supervisor, worker, reviewWorkflow, UntilTestsPass, retryWorkflow, ValidateStages, coordinator.Workflow}
}

// A tested is the result of the project's tests.
type tested struct {
	Some bool   `json:"some"` // there are tests, and a way to run them
	OK   bool   `json:"ok"`   // some ran and all passed
	Text string `json:"text"` // what failed, or in a few words how it went

	failed *coordinator.Problem
}

// runTests runs the project's tests, at no cost of tokens. A project that has
// none is no failure: see Some.
func runTests(sc *executor.Scope) (t tested, err error) {
	if !sc.Has("run_tests") {
		return tested{Text: "there is no tool to run tests"}, nil
	}
	reply, err := coordinator.Call{Step: "tests", Command: "run_tests", Tool: "run_tests", Interrupted: turn.Recognized}.Make(sc)
	if err != nil {
		return t, err
	}
	t = tested{Some: true, OK: !reply.Failed, Text: reply.Text, failed: reply.Problem}
	if t.OK && reply.Summary != "" {
		t.Text = reply.Summary
	}
	var res struct {
		None bool `json:"none"`
	}
	if _, err := sc.Value("test_result", &res); err != nil {
		return t, err
	}
	if res.None || reply.Inconclusive != "" {
		t.Some = false // nobody can mend what is not there, or cannot be run here
	}
	return t, nil
}

// repairTests has the agent fixer make right what failed, and runs the tests again,
// until they pass or it was asked most times. That the fixer did not get done is no
// error: the tests decide. rounds counts the requests to it.
func repairTests(sc *executor.Scope, t tested, task string, most int) (_ tested, rounds int, err error) {
	o := coordinator.Moves(sc.Task, coordinator.Move{Agent: "fixer", Times: most})
	last := executor.Report{}
	o.Repair = func(p *coordinator.Problem, at *coordinator.Attempt) (_ bool, err error) {
		rounds++
		last, at.Repair, err = coordinator.Delegated(sc, executor.SubAgentRequest{
			Agent: at.Action.Agent, Prompt: "The tests fail after work on this task:\n" + clip(task, 4000),
			Inputs: inputs(args{"command": "run_tests", "output": clip(p.Output, 16000)}),
		})
		return true, coordinator.Survived(sc.Task, err)
	}
	if o.NoRules {
		o.Show = func(*coordinator.Problem, *coordinator.Attempt) error { return nil }
	}
	res, err := coordinator.Coordinate(sc, o, t.problem(), func(act coordinator.Action) (*coordinator.Problem, error) {
		if t, err = runTests(sc); err != nil || t.OK {
			return nil, err
		}
		if act.Decision == coordinator.Delegate && last.Status != executor.Done {
			t.Text += "\nThe fixer: " + last.Status + ": " + last.Reason
		}
		return t.problem(), nil
	})
	if sc.Has(coordinator.ReplayTool) && res.Status != "" { // not in tasks that were pinned before
		var done coordinator.Record
		done.Add(res)
		err = errors.Join(err, sc.Bind("coordinated", done))
	}
	if n := len(res.Attempts); err == nil && n > 0 && res.Attempts[n-1].Action.Decision == coordinator.Escalate {
		t.Text = res.Reason + "\n" + t.Text
	}
	return t, rounds, err
}

// problem returns the tests' failure, for a coordinator.
func (t tested) problem() *coordinator.Problem {
	t.failed.Output = t.Text
	return t.failed
}

// runTypes runs the checks of types and of the build that the project has set
// up, and gives what the failed ones say.
func runTypes(sc *executor.Scope) (bad []string, err error) {
	if !sc.Has("run_check") {
		return nil, nil
	}
	if _, err := sc.Tool("run_check", nil); err != nil {
		return nil, err
	}
	var checks []struct{ Check, Tool, Command string }
	if _, err := sc.Value("checks", &checks); err != nil {
		return nil, err
	}
	for _, c := range checks {
		if c.Tool != "run_check" || c.Check != "types" && c.Check != "build" {
			continue
		}
		reply, err := sc.Tool(c.Tool, args{"check": c.Check})
		if err != nil {
			return bad, err
		}
		if reply.Failed {
			bad = append(bad, strings.TrimSpace(c.Check+": "+c.Command+"\n"+reply.Text))
		}
	}
	return bad, nil
}
