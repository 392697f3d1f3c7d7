package work

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/configs"
	"github.com/adroit-run/adroit/internal/system/hostexec"
	stepio "github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/cli/internal/request"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// New is adroit bench.
func NewBench(e *kit.Env) *cobra.Command { return kit.Noun("bench", "Benchmarks", newSavings(e)) }

func newSavings(e *kit.Env) *cobra.Command {
	var q request.Flags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "savings",
		Short: "Compare a workflow with one agent that does everything by tools",
		Long: "Has the same task done twice, each time in a new repository: by one agent that has all the tools, and\n" +
			"by a workflow that asks a model only for the change and for words. Prints what both took, operation\n" +
			"by operation. The model's turns are scripted and its tokens estimated; with -m a real model gets\n" +
			"the same task. What its calls do is real in any case.",
		Example: "  adroit bench savings\n  adroit bench savings -m ollama/qwen3:8b",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return savings(cmd.Context(), e, q, asJSON) },
	}
	cmd.Flags().StringVarP(&q.Model, "model", "m", "", "a real model, as provider/model")
	cmd.Flags().StringVar(&q.BaseURL, "base-url", "", "address of the model's server")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the figures as JSON")
	return cmd
}

// The two sides.
const (
	savingsAgent    = "savings_agent"
	savingsWorkflow = "savings_workflow"
)

// The operations of the task, in their order.
const (
	opBranch = "make a branch"
	opTask   = "read the task"
	opChange = "change the code"
	opCheck  = "run the tests"
	opCommit = "commit"
	opWords  = "describe the pull request"
)

var operations = []string{opBranch, opTask, opChange, opCheck, opCommit, opWords}

// A spending is what an operation took of models.
type spending struct {
	Requests int `json:"requests"`
	Tokens   int `json:"tokens"` // in and out
}

// A saving is an operation on both sides.
type saving struct {
	Operation string   `json:"operation"`
	Agent     spending `json:"agent"`
	Workflow  spending `json:"workflow"`
}

func savings(ctx context.Context, e *kit.Env, q request.Flags, asJSON bool) (err error) {
	for _, program := range []string{"git", "go"} {
		if _, err := hostexec.InSandbox(program); err != nil {
			return kit.Fail(fmt.Errorf("the task is one in a repository of a Go project, and %s is not on PATH", program), "install git and Go")
		}
	}
	work, err := os.MkdirTemp("", "adroit-savings-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	// What is thrown away needs no place among the real jobs.
	e, shut := e.Temporary(filepath.Join(work, "data"))
	defer func() { err = errors.Join(err, shut()) }()
	if q.Model == "" {
		if q.Model, err = Script(work, configs.SavingsTurns()); err != nil {
			return err
		}
		fmt.Fprintln(e.Err, "the model's turns are scripted and its tokens estimated; branches, edits, tests and commits are real")
	}
	q.Prompt, q.Approve, q.Trust = configs.SavingsTask(), "all", true
	rows := make([]saving, len(operations))
	for i, op := range operations {
		rows[i].Operation = op
	}
	for _, agent := range []string{savingsAgent, savingsWorkflow} {
		spent, err := spend(ctx, e, q, agent, filepath.Join(work, agent))
		if err != nil {
			return err
		}
		for i := range rows {
			if agent == savingsAgent {
				rows[i].Agent = spent[rows[i].Operation]
			} else {
				rows[i].Workflow = spent[rows[i].Operation]
			}
		}
	}
	return kit.Print(e.Out, asJSON, append(rows, total(rows)), printSavings)
}

// spend has an agent do the task in a new repository, and returns what each
// operation took.
func spend(ctx context.Context, e *kit.Env, q request.Flags, agent, dir string) (map[string]spending, error) {
	if err := errors.Join(configs.WriteSavings(dir), CommitAll(ctx, dir)); err != nil {
		return nil, err
	}
	// Who commits there: the user may not have configured git.
	if err := Git(ctx, dir, []string{"config", "user.name", "adroit"}, []string{"config", "user.email", "bench@localhost"}); err != nil {
		return nil, err
	}
	q.Target, q.Workspace = agent, dir
	if err := q.Read(e); err != nil {
		return nil, err
	}
	c, err := e.Client()
	if err != nil {
		return nil, err
	}
	s, err := Run(ctx, e, c, agent, q.Request, true)
	if err != nil {
		return nil, err
	}
	if s.Status != jobs.Done {
		return nil, kit.Fail(fmt.Errorf("%s did not get done: %s: %s", agent, s.Status, s.Reason), "there is nothing to compare; another model may do better")
	}
	return spendings(context.WithoutCancel(ctx), c, s.Job)
}

func total(rows []saving) saving {
	sum := saving{Operation: "in all"}
	for _, r := range rows {
		sum.Agent.Requests, sum.Agent.Tokens = sum.Agent.Requests+r.Agent.Requests, sum.Agent.Tokens+r.Agent.Tokens
		sum.Workflow.Requests, sum.Workflow.Tokens = sum.Workflow.Requests+r.Workflow.Requests, sum.Workflow.Tokens+r.Workflow.Tokens
	}
	return sum
}

func printSavings(w io.Writer, rows []saving) {
	var t kit.Table
	t.Row("", "one agent", "", "workflow", "", "saved")
	t.Row("", "requests", "tokens", "requests", "tokens", "")
	for _, r := range rows {
		saved := "-"
		if r.Agent.Tokens > 0 {
			saved = fmt.Sprintf("%.0f %%", 100*(1-float64(r.Workflow.Tokens)/float64(r.Agent.Tokens)))
		}
		t.Row(r.Operation, kit.Count(r.Agent.Requests), kit.Count(r.Agent.Tokens), kit.Count(r.Workflow.Requests), kit.Count(r.Workflow.Tokens), saved)
	}
	t.Write(w)
}

// spendings is what a job took, by operation. The sub-agents of the workflow
// have one each; a turn of the agent belongs to the one that its first call is
// part of, and the answer that calls nothing is the words of the pull request.
func spendings(ctx context.Context, c adroit.Client, id string) (map[string]spending, error) {
	out := map[string]spending{}
	add := func(op string, s spending) {
		sum := out[op]
		out[op] = spending{sum.Requests + s.Requests, sum.Tokens + s.Tokens}
	}
	within := map[string]string{} // path of a sub-agent -> its operation
	var turn spending
	for ev, err := range c.Events(ctx, id, adroit.EventOptions{}) {
		if err != nil {
			return nil, err
		}
		if ev.Kind == event.AgentStarted {
			within[ev.Path+"."] = map[string]string{"commit_message": opCommit, "pr_description": opWords}[ev.Name]
		}
		if ev.Kind != event.StepFinished || ev.Step != stepio.ModelStep && ev.Step != stepio.ToolStep {
			continue
		}
		var d struct {
			Usage struct{ In, Out int }
			Args  json.RawMessage
		}
		if err := json.Unmarshal(ev.Data, &d); err != nil {
			continue // a failed step
		}
		own := ""
		for path, op := range within {
			if strings.HasPrefix(ev.Path, path) {
				if own = op; own == "" {
					own = opChange
				}
			}
		}
		s := spending{1, d.Usage.In + d.Usage.Out}
		switch {
		case ev.Step == stepio.ModelStep && own != "":
			add(own, s)
		case ev.Step == stepio.ModelStep:
			add(opWords, turn)
			turn = s
		case own == "":
			add(operation(ev.Name, d.Args), turn)
			turn = spending{}
		}
	}
	add(opWords, turn)
	return out, nil
}

// operation is what a call of a tool is part of.
func operation(tool string, args json.RawMessage) string {
	switch tool {
	case "git_branch":
		return opBranch
	case "git_commit", "git_diff", "git_status", "git_log":
		return opCommit
	case "run_tests":
		return opCheck
	case "read_file":
		if strings.Contains(string(args), "TASK.md") {
			return opTask
		}
	}
	return opChange
}
