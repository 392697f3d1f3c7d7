package catalog

import (
	"fmt"
	"slices"

	"github.com/adroit-run/adroit/internal/apierr"
	"github.com/adroit-run/adroit/internal/pipeline"
	"github.com/adroit-run/adroit/internal/spelling"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/flow"
)

// WorkflowOf is the workflow that runs the agent of a request.
func (c *Catalog) WorkflowOf(agent *agents.DynamicAgent, in agents.Input) (string, error) {
	if in.Pipeline != "" {
		return pipeline.Workflow.Name, nil
	}
	name := agent.Runs()
	var all []string
	for _, w := range c.Workflows() {
		all = append(all, w.Name)
	}
	if slices.Contains(all, name) {
		return name, nil
	}
	hint := "run it with the program that has it; docs/workflows.md says how to make one"
	if n := spelling.Nearest(name, all); n != "" {
		hint = fmt.Sprintf("did you mean workflow: %s?\n%s", n, hint)
	}
	return "", apierr.Invalidf(hint, "the agent %s is led by the workflow %q, which this program does not have", in.Name(), name)
}

// Workflows are those that jobs here may run.
func (c *Catalog) Workflows() []flow.Workflow {
	all := []flow.Workflow{agents.Workflow, pipeline.Workflow}
	for _, w := range c.o.Workflows {
		if !slices.ContainsFunc(all, func(have flow.Workflow) bool { return have.Name == w.Name }) {
			all = append(all, w)
		}
	}
	return all
}

// LintWorkflow reports a workflow that leads an agent and that this program has not.
func (c *Catalog) LintWorkflow(a *agents.DynamicAgent) agents.Problems {
	_, err := c.WorkflowOf(a, agents.Input{Agent: a.Name})
	if err == nil {
		return nil
	}
	return agents.Problems{{File: a.Source.File, Severity: agents.Error, Message: err.Error(), Hint: apierr.Hint(err)}}
}
