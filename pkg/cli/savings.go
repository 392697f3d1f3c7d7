package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/configs"
	"github.com/adroit-run/adroit/pkg/cli/internal/env"
	"github.com/adroit-run/adroit/pkg/cli/internal/exit"
	"github.com/adroit-run/adroit/pkg/cli/internal/render"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/jobs"
)

func (a *app) benchCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Benchmarks",
		Args:  cobra.ArbitraryArgs,
		RunE:  env.Group,
	}
	cmd.AddCommand(a.savingsCommand())
	return cmd
}

func (a *app) savingsCommand() *cobra.Command {
	var q request
	cmd := &cobra.Command{
		Use:   "savings",
		Short: "Compare a workflow with one agent that does everything by tools",
		Long: "Has the same task done twice, each time in a new repository: by one agent that has all the tools, and\n" +
			"by a workflow that asks a model only for the change and for words. Prints what both took, operation\n" +
			"by operation. The model's turns are scripted and its tokens estimated; with -m a real model gets\n" +
			"the same task. What its calls do is real in any case.",
		Example: "  adroit bench savings\n  adroit bench savings -m ollama/qwen3:8b",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.savings(cmd.Context(), q) },
	}
	cmd.Flags().StringVarP(&q.model, "model", "m", "", "a real model, as provider/model")
	cmd.Flags().StringVar(&q.baseURL, "base-url", "", "address of the model's server")
	cmd.Flags().BoolVar(&q.json, "json", false, "print the figures as JSON")
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

func (a *app) savings(ctx context.Context, q request) (err error) {
	for _, program := range []string{"git", "go"} {
		if _, err := exec.LookPath(program); err != nil {
			return exit.Fail(fmt.Errorf("the task is one in a repository of a Go project, and %s is not on PATH", program), "install git and Go")
		}
	}
	work, err := os.MkdirTemp("", "adroit-savings-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	// What is thrown away needs no place among the real jobs.
	a.flags.dataDir, a.conf, a.passing = filepath.Join(work, "data"), nil, true
	defer func() { err = errors.Join(err, a.close()) }()
	if q.model == "" {
		script := filepath.Join(work, "turns.yaml")
		if err := os.WriteFile(script, configs.SavingsTurns(), 0o600); err != nil {
			return err
		}
		q.model = "script" + ":" + script
		fmt.Fprintln(a.Stderr, "the model's turns are scripted and its tokens estimated; branches, edits, tests and commits are real")
	}
	q.prompt, q.approve, q.trust = configs.SavingsTask(), string(executor.ApproveAll), true
	m, err := a.manager(ctx)
	if err != nil {
		return err
	}
	rows := make([]saving, len(operations))
	for i, op := range operations {
		rows[i].Operation = op
	}
	for _, agent := range []string{savingsAgent, savingsWorkflow} {
		q.agent, q.dir = agent, filepath.Join(work, agent)
		if err := configs.WriteSavings(q.dir); err != nil {
			return err
		}
		if err := commitAll(ctx, q.dir); err != nil {
			return err
		}
		if err := sign(ctx, q.dir); err != nil {
			return err
		}
		quiet := q
		quiet.json = true
		c, code, err := a.contend(ctx, m, quiet, agent)
		if err != nil {
			return err
		}
		if code != exit.Done {
			return exit.Fail(fmt.Errorf("%s did not get done: %s: %s", agent, c.Status, c.Reason), "there is nothing to compare; another model may do better")
		}
		spent, err := spendings(context.WithoutCancel(ctx), m.Store, c.Job)
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
	rows = append(rows, total(rows))
	if q.json {
		return a.json(rows)
	}
	a.printSavings(rows)
	return nil
}

// sign sets who commits in dir: the user may not have configured git.
func sign(ctx context.Context, dir string) error {
	for _, args := range [][]string{{"config", "user.name", "adroit"}, {"config", "user.email", "bench@localhost"}} {
		cmd := exec.CommandContext(ctx, "git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("git %s: %w: %s", args[0], err, out)
		}
	}
	return nil
}

func total(rows []saving) saving {
	sum := saving{Operation: "in all"}
	for _, r := range rows {
		sum.Agent.Requests, sum.Agent.Tokens = sum.Agent.Requests+r.Agent.Requests, sum.Agent.Tokens+r.Agent.Tokens
		sum.Workflow.Requests, sum.Workflow.Tokens = sum.Workflow.Requests+r.Workflow.Requests, sum.Workflow.Tokens+r.Workflow.Tokens
	}
	return sum
}

func (a *app) printSavings(rows []saving) {
	var t render.Table
	t.Row("", "one agent", "", "workflow", "", "saved")
	t.Row("", "requests", "tokens", "requests", "tokens", "")
	for _, r := range rows {
		saved := "-"
		if r.Agent.Tokens > 0 {
			saved = fmt.Sprintf("%.0f %%", 100*(1-float64(r.Workflow.Tokens)/float64(r.Agent.Tokens)))
		}
		t.Row(r.Operation, render.Count(r.Agent.Requests), render.Count(r.Agent.Tokens), render.Count(r.Workflow.Requests), render.Count(r.Workflow.Tokens), saved)
	}
	t.Write(a.Stdout)
}

// spendings is what a job took, by operation. The sub-agents of the workflow
// have one each; a turn of the agent belongs to the one that its first call is
// part of, and the answer that calls nothing is the words of the pull request.
func spendings(ctx context.Context, log jobs.Store, id string) (map[string]spending, error) {
	out := map[string]spending{}
	add := func(op string, s spending) {
		sum := out[op]
		out[op] = spending{sum.Requests + s.Requests, sum.Tokens + s.Tokens}
	}
	within := map[string]string{} // path of a sub-agent -> its operation
	var turn spending
	for ev, err := range log.Events(ctx, id, 0, false) {
		if err != nil {
			return nil, err
		}
		if ev.Kind == event.AgentStarted {
			within[ev.Path+"."] = map[string]string{"commit_message": opCommit, "pr_description": opWords}[ev.Name]
		}
		if ev.Kind != event.StepFinished || ev.Step != render.StepModel && ev.Step != render.StepTool {
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
		case ev.Step == render.StepModel && own != "":
			add(own, s)
		case ev.Step == render.StepModel:
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
