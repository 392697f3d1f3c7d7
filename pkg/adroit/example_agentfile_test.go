package adroit_test

import (
	"fmt"

	"github.com/adroit-run/adroit/pkg/adroit"
)

// An agent file: front matter, then the system prompt.
func ExampleParseAgent() {
	agent, problems := adroit.ParseAgent("reviewer.md", []byte(`---
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
