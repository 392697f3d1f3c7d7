package workflows

import (
	"strings"

	"github.com/adroit-run/adroit/pkg/executor"
)

// A Tested is what the tests of the project have shown.
type Tested struct {
	Some bool   `json:"some"` // there are tests, and a way to run them
	OK   bool   `json:"ok"`   // some ran and all passed
	Text string `json:"text"` // what failed, or in a few words how it went
}

// runTests runs the project's tests, at no cost of tokens. A project that has
// none is no failure: see Some.
func runTests(sc *executor.Scope) (t Tested, err error) {
	if !sc.Has("run_tests") {
		return Tested{Text: "there is no tool to run tests"}, nil
	}
	reply, err := sc.Tool("run_tests", nil)
	if err != nil {
		return t, err
	}
	t = Tested{Some: true, OK: !reply.Failed, Text: reply.Text}
	if t.OK && reply.Summary != "" {
		t.Text = reply.Summary
	}
	var res struct {
		None bool `json:"none"`
	}
	if _, err := sc.Value("test_result", &res); err != nil {
		return t, err
	}
	if res.None || reply.WhyInconclusive() != "" {
		t.Some = false // nobody can mend what is not there, or cannot be run here
	}
	return t, nil
}

// repairTests has the agent fixer make right what failed, and runs the tests again.
// That the fixer did not get done is no error: the tests say what counts.
func repairTests(sc *executor.Scope, t Tested, task string) (Tested, error) {
	rep, err := spawn(sc, executor.SubAgentRequest{
		Agent: "fixer", Prompt: "The tests fail after work on this task:\n" + clip(task, 4000),
		Inputs: inputs(args{"command": "run_tests", "output": clip(t.Text, 16000)}),
	})
	if err != nil {
		return t, err
	}
	again, err := runTests(sc)
	if !again.OK && rep.Status != executor.Done {
		again.Text += "\nThe fixer: " + rep.Status + ": " + rep.Reason
	}
	return again, err
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
