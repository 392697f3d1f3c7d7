package agents_test

import (
	"fmt"

	"github.com/adroit-run/adroit/pkg/agents"
)

// An agent file: front matter, then the system prompt.
func ExampleParse() {
	agent, problems := agents.Parse("reviewer.md", []byte(`---
name: reviewer
description: Review a change.
tools: [read_file, search]
done: {signal: REVIEWED}
---
You review changes.`))
	if err := problems.Err(); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(agent.Name, agent.Tools, agent.Done.Describe())
	// Output:
	// reviewer [read_file search] [you call finish, or say REVIEWED on a line of its own]
}
