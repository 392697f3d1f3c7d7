package adroit

import (
	"context"
	"errors"
	"slices"

	"github.com/adroit-run/adroit/internal/lsp"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
)

// workspaceCaps are what only a workspace can give to a tool.
const workspaceCaps = tools.Read | tools.Write | tools.Exec | tools.Shell

// Ask asks a model, which may call the tools, and returns its final answer. It is
// the smallest use of adroit: nothing is kept, and a call that a person would
// have to approve is refused. It ends within executor.DefaultLimits, and with ctx. The current directory is the workspace of tools
// that need one; without such a tool none is opened. See [llm.Named] for a
// provider with several models.
func Ask(ctx context.Context, model llm.Model, prompt string, list ...tools.Tool) (answer string, err error) {
	if model == nil {
		return "", errors.New("adroit: Ask without a model")
	}
	rt, err := Open(ctx, Options{
		Tools: list, Models: map[string]llm.Model{"ask": model}, Model: "ask/model",
		Defaults: agents.Defaults{Approve: executor.ApproveNone}, Workspace: Workspace{Servers: []lsp.Server{}, NoDiagnostics: true},
	})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, rt.Close()) }()
	rt.bare = !slices.ContainsFunc(list, func(t tools.Tool) bool { return t.Needs&workspaceCaps != 0 })
	agent := agents.DynamicAgent{Name: "ask", Description: "Answer a prompt.", Prompt: "You answer the user. Use the tools where they help."}
	for _, t := range list {
		agent.Tools = append(agent.Tools, t.Name)
	}
	s, err := rt.Run(ctx, Request{Input: agents.Input{Spec: &agent, Prompt: prompt}})
	if s != nil {
		answer = s.Last
	}
	return answer, err
}
