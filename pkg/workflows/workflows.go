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
	"github.com/adroit-run/adroit/internal/coordinator"
	"github.com/adroit-run/adroit/pkg/flow"
)

// All are the workflows that ship.
func All() []flow.Workflow {
	return []flow.Workflow{BlogPhases, PodcastPhases, Supervisor, Worker, FanoutReview, UntilTestsPass, RetryAnalysis, ValidateStages, Savings, coordinator.Workflow}
}
