package workflows

import (
	"fmt"

	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/workflows/coordinator"
)

// UntilTestsPass has the task done by its model, then runs the tests and has
// the agent fixer make right what fails, until they pass or it was tried five
// times. The artifact "rounds" states how often.
var UntilTestsPass = agents.Define("until_tests_pass", untilTestsPass)

// A progress is a model's report on its progress with a task.
type progress struct {
	Status   string `json:"status" jsonschema:"enum=complete,enum=needs_research,enum=blocked,description=blocked only if a person has to decide or provide something"`
	Note     string `json:"note" jsonschema:"minLength=1,description=What was done and how; or what blocks you"`
	Question string `json:"question,omitempty" jsonschema:"description=For needs_research: what you have to know and cannot find out yourself"`
}

const mostRounds = 5

func untilTestsPass(sc *executor.Scope) error {
	did, err := executor.AITurn[progress](sc, executor.Turn{Act: true, Without: []string{coordinator.ReplayTool}, Prompt: "Do this, with your tools, then say where you stand:\n" + sc.Task.Prompt})
	if err != nil {
		return err
	}
	if did.Status == "blocked" {
		return fmt.Errorf("blocked: %s", did.Note)
	}
	t, err := runTests(sc)
	if err != nil {
		return err
	}
	if !t.Some {
		return fmt.Errorf("there are no tests that could pass: %s", t.Text)
	}
	round := 1
	if !t.OK {
		var fixed int
		if t, fixed, err = repairTests(sc, t, sc.Task.Prompt, mostRounds-1); err != nil {
			return err
		}
		round += fixed
	}
	if err := sc.Bind("rounds", round); err != nil {
		return err
	}
	if sc.State.Last = did.Note; !t.OK {
		return fmt.Errorf("tests still fail after %d rounds: %s", round, clip(t.Text, 2000))
	}
	return nil
}
