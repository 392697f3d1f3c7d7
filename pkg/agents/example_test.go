package agents_test

import (
	"fmt"

	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
)

// An agent in Go; a runtime executes it, see pkg/adroit.
func ExampleDynamicAgent() {
	reviewer := agents.DynamicAgent{
		Name: "reviewer", Description: "Review a change.", Prompt: "You review changes.",
		Tools: []string{"read_file", "search"}, Done: executor.Criterion{Signal: "REVIEWED"},
	}
	fmt.Println(reviewer.Name, reviewer.Runs(), reviewer.Done.Describe())
	// Output:
	// reviewer agent [you call finish, or say REVIEWED on a line of its own]
}
