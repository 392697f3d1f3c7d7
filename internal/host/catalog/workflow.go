package catalog

import (
	"errors"
	"fmt"
	"slices"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/workflows/pipeline"
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
	return "", problem.Invalidf(hint, "the agent %s is led by the workflow %q, which this program does not have", in.Name(), name)
}

// Workflows are those that jobs here may run.
func (c *Catalog) Workflows() []flow.Workflow {
	return append([]flow.Workflow{agents.Workflow, pipeline.Workflow}, c.o.Workflows...)
}

// CheckWorkflows refuses workflows that a job could not name: those without a name, and
// those called like another.
func CheckWorkflows(list []flow.Workflow) error {
	taken := map[string]bool{}
	for _, w := range list {
		switch {
		case w.Name == "":
			return errors.New("a workflow has no name")
		case w.Name == agents.Workflow.Name || w.Name == pipeline.Workflow.Name:
			return fmt.Errorf("a workflow is called %q, which is one of adroit's own; give it another name", w.Name)
		case taken[w.Name]:
			return fmt.Errorf("two workflows are called %q; a job names one", w.Name)
		}
		taken[w.Name] = true
	}
	return nil
}

// LintWorkflow reports a workflow that leads an agent and that this program has not.
func (c *Catalog) LintWorkflow(a *agents.DynamicAgent) agents.Problems {
	_, err := c.WorkflowOf(a, agents.Input{Agent: a.Name})
	if err == nil {
		return nil
	}
	return agents.Problems{{File: a.Source.File, Severity: agents.Error, Message: err.Error(), Hint: problem.Hint(err)}}
}
