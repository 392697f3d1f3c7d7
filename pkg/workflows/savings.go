package workflows

import (
	"encoding/json"
	"fmt"

	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
)

// Savings does a task from its branch to the words of its pull request, and
// asks a model only for the change itself and for words. It is one side of
// adroit bench savings; the other is an agent that does all of it by tools.
var Savings = agents.Define("savings", func(sc *executor.Scope) error {
	if err := do(sc, "git_branch", args{"name": "round-totals"}); err != nil {
		return err
	}
	task, err := sc.Tool("read_file", args{"path": "TASK.md"})
	if err != nil {
		return err
	}
	before, err := sc.Tool("run_tests", nil)
	if err != nil {
		return err
	}
	if _, err := sc.Spawn(executor.SubAgentRequest{Agent: "savings_implementer", Prompt: task.Text + "\n\nThe tests say:\n" + before.Text}); err != nil {
		return err
	}
	if err := do(sc, "run_tests", nil); err != nil {
		return err
	}
	if err := do(sc, "git_diff", nil); err != nil {
		return err
	}
	given := map[string]json.RawMessage{"diff": sc.State.Value("diff")}
	var message struct{ Subject, Body string }
	if err := write(sc, "commit_message", given, &message); err != nil {
		return err
	}
	if err := do(sc, "git_commit", args{"message": message.Subject + "\n\n" + message.Body, "paths": []string{"cart.go"}}); err != nil {
		return err
	}
	var pr struct{ Title, Body string }
	if err := write(sc, "pr_description", given, &pr); err != nil {
		return err
	}
	sc.State.Last = pr.Title + "\n\n" + pr.Body
	return nil
})

// write has an agent without tools write something.
func write(sc *executor.Scope, agent string, given map[string]json.RawMessage, v any) error {
	rep, err := sc.Spawn(executor.SubAgentRequest{Agent: agent, Inputs: given})
	if err != nil {
		return fmt.Errorf("%s: %w", agent, err)
	}
	return rep.As(v)
}
