package agents

import (
	"encoding/json"
	"time"

	"github.com/adroit-run/adroit/internal/executor/stepio"
	"github.com/adroit-run/adroit/internal/executor/toolcall"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
)

// An Input is a request to an agent: the input of the workflow "agent". All
// of it is journaled; secrets have no place in it.
type Input struct {
	Agent    string                     `json:"agent,omitempty"` // a name in the catalog
	Spec     *DynamicAgent              `json:"spec,omitempty"`  // or the agent itself, by value
	Prompt   string                     `json:"prompt,omitempty"`
	Inputs   map[string]json.RawMessage `json:"inputs,omitempty"`
	Model    string                     `json:"model,omitempty"`   // instead of the agent's
	Limits   executor.Limits            `json:"limits,omitzero"`   // non-zero fields instead of the agent's
	Approve  executor.Approve           `json:"approve,omitempty"` // instead of the default
	Mode     executor.Mode              `json:"mode,omitempty"`    // instead of the default; an agent may narrow it
	Patience time.Duration              `json:"patience_ns,omitempty"`
	Dir      string                     `json:"dir,omitempty"` // the workspace, as the prompt may name it
	Options  llm.Options                `json:"options,omitzero"`
	// Test is the command line that runs the project's tests, instead of what
	// is configured or the tool run_tests finds.
	Test string `json:"test,omitempty"`
	// Worktree asks for a git worktree of Dir's repository, so that the job
	// disturbs nobody. Runners see to it; Resolve does not read it.
	Worktree bool `json:"worktree,omitempty"`
	// Pipeline names the pipeline that the request is to, in place of an agent;
	// Resolve does not read it. See internal/pipeline.
	Pipeline string `json:"pipeline,omitempty"`
	// Calling states how tools are called, instead of the agent's.
	Calling toolcall.Mode `json:"calling,omitempty"`
	// Taint is what the caller knows of Prompt and Inputs: that others wrote
	// them, that they hold secrets. Inputs are taken for what others wrote in
	// any case: an issue, a report, what an agent has made of a page.
	Taint tools.Taint `json:"taint,omitempty"`
	// Memory is what is recalled of earlier jobs, instead of what the agent says:
	// project, user, or off.
	Memory string `json:"memory,omitempty"`
	// ForAll has sub-agents use Model too, whatever they name.
	ForAll bool `json:"model_for_all,omitempty"`
	// Parent is set for a sub-agent.
	Parent *executor.Parent `json:"parent,omitempty"`
	// Attached goes with Prompt, as a runtime has read it; Resolve reads no files.
	executor.Attached
	branchInput
}

// branchInput is the conversation that the job goes on with, in place of one that
// begins with Prompt.
type branchInput struct {
	Branch *stepio.Branch `json:"branch,omitempty"`
}

// Name is the agent's name.
func (in Input) Name() string {
	if in.Agent == "" && in.Spec != nil {
		return in.Spec.Name
	}
	return in.Agent
}
