package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aymanbagabas/go-udiff"
	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/internal/pipeline"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/cli/internal/exit"
	"github.com/adroit-run/adroit/pkg/cli/internal/render"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// A contender is how one side of a comparison went.
type contender struct {
	Asked     string         `json:"asked"` // AGENT or PIPELINE, perhaps @MODEL
	Job       string         `json:"job"`
	Agent     string         `json:"agent"`
	Workflow  string         `json:"workflow"`
	Model     string         `json:"model"`
	Status    jobs.Status    `json:"status"`
	Reason    string         `json:"reason,omitempty"`
	Turns     int            `json:"turns"`
	Calls     int            `json:"calls"`
	Agents    int            `json:"agents,omitempty"` // sub-agents, whose figures are in these
	Requests  int            `json:"requests"`         // to models, those of tools too
	Usage     jobs.Usage     `json:"usage"`
	Cost      float64        `json:"cost_usd,omitempty"`
	Seconds   float64        `json:"seconds"`
	Artifacts map[string]int `json:"artifacts"` // bytes as JSON

	texts map[string]string
}

func (a *app) compareCommand() *cobra.Command {
	var q request
	var artifact string
	cmd := &cobra.Command{
		Use:   "compare A B [PROMPT|-]",
		Short: "Run two agents, models, workflows or pipelines on one request and compare",
		Long: "Runs the same request twice, as ordinary jobs one after the other, and prints side by side what\n" +
			"each took and made. A and B are each an agent, one that runs a workflow, or a pipeline, with\n" +
			"@MODEL after it for a model of its own. Both work in the same directory, the second on what the\n" +
			"first has left; with --worktree each has its own.\n\n" +
			"The exit code is 0 if both were done, else that of the first that was not.",
		Example: "  adroit compare blog blog_phases \"why jobs should survive a kill\" -m ollama/qwen3:8b\n" +
			"  adroit compare builder@ollama/qwen3:8b builder@openai/gpt-5 \"add CSV export\" --worktree\n" +
			"  adroit compare builder pipeline:feature \"add CSV export\" --worktree",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 2 {
				return exit.Usagef("adroit agents list and adroit pipelines list say which there are", "compare needs two agents or pipelines")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.prompt(&q, args[2:]); err != nil {
				return err
			}
			return a.compare(cmd.Context(), q, args[0], args[1], artifact)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&q.model, "model", "m", "", "provider/model of the sides that name none, or script:FILE (or ADROIT_MODEL)")
	f.StringVarP(&q.dir, "dir", "C", ".", "work in this directory")
	f.StringArrayVarP(&q.inputs, "input", "i", nil, "an input of both, key=value; value may be JSON, or @FILE")
	f.StringVar(&q.approve, "approve", "none", "what to do where a person is to approve: none (denies), all (approves everything)")
	f.IntVar(&q.turns, "max-turns", 0, "stop each after this many model calls")
	f.IntVar(&q.tokens, "max-tokens", 0, "stop each after this many tokens, in and out")
	f.Float64Var(&q.cost, "max-cost", 0, "stop each after this many USD; needs the model's price in the config")
	f.DurationVar(&q.timeout, "timeout", 0, "stop each after this much active time, for example 30m")
	f.BoolVar(&q.worktree, "worktree", false, "give each a git worktree of the last commit")
	f.BoolVar(&q.trust, "trust-project", false, "load this project's agents, skills and AGENTS.md for this run")
	f.StringVar(&artifact, "artifact", "", "also show how the two differ in this artifact, for example content")
	f.BoolVar(&q.json, "json", false, "print the comparison as JSON")
	return cmd
}

func (a *app) compare(ctx context.Context, q request, left, right, artifact string) error {
	if q.approve != string(executor.ApproveNone) && q.approve != string(executor.ApproveAll) {
		return exit.Usagef("it is none or all: a comparison waits for nobody", "--approve is %q", q.approve)
	}
	m, err := a.manager(ctx)
	if err != nil {
		return err
	}
	// What is wrong with the second is said before the first has run.
	for _, asked := range []string{left, right} {
		if _, err := a.plan(ctx, q.side(asked)); err != nil {
			return err
		}
	}
	var sides []*contender
	worst := exit.Done
	for _, asked := range []string{left, right} {
		c, code, err := a.contend(ctx, m, q.side(asked), asked)
		if err != nil {
			return err
		}
		sides = append(sides, c)
		if worst == exit.Done {
			worst = code
		}
		if ctx.Err() != nil {
			break
		}
	}
	if len(sides) < 2 {
		return exit.With(worst)
	}
	if _, changed := sides[0].Artifacts["diff"]; changed && !q.worktree {
		a.note("%s changed files, and %s began with these changes; --worktree keeps them apart", left, right)
	}
	diff := ""
	if artifact != "" {
		if diff, err = differ(sides, artifact); err != nil {
			return err
		}
	}
	if q.json {
		out := map[string]any{"prompt": q.prompt, "sides": sides}
		if artifact != "" {
			out["diff"] = diff
		}
		return errors.Join(a.json(out), exit.With(worst))
	}
	a.sideBySide(sides)
	if artifact != "" {
		fmt.Fprintln(a.Stdout)
		if diff == "" {
			fmt.Fprintf(a.Stdout, "both made the same %s\n", artifact)
		}
		render.Diff(a.output(), diff)
	}
	return exit.With(worst)
}

// side is the request of one side.
func (q request) side(asked string) request {
	agent, model, ok := strings.Cut(asked, "@")
	if q.agent = agent; ok {
		q.model = model
	}
	return q
}

// contend runs one side to its end.
func (a *app) contend(ctx context.Context, m *jobs.Manager, q request, asked string) (*contender, int, error) {
	sub, err := a.submit(ctx, q)
	if err != nil {
		return nil, 0, err
	}
	job := sub.Job
	var past render.History
	if !q.json {
		a.header(ctx, job, sub.Plan.Task.Options.Window)
		if past, err = render.ReadHistory(m.Store.Events(context.WithoutCancel(ctx), job.ID, 0, false), a.rate()); err != nil {
			return nil, 0, err
		}
	}
	o := jobs.RunOptions{Park: true, Hook: killHook()}
	end := func() {}
	if !q.json {
		end = a.watch(ctx, m.Store, job.ID, &past, false, &o)
	}
	start := time.Now()
	job, err = m.Run(ctx, job.ID, o)
	took := time.Since(start)
	end()
	if err != nil {
		return nil, 0, a.runFault(job.ID, err)
	}
	if past, err = render.ReadHistory(m.Store.Events(context.WithoutCancel(ctx), job.ID, 0, false), a.rate()); err != nil {
		return nil, 0, err
	}
	c := &contender{Asked: asked, Job: job.ID, Agent: sub.Plan.Input.Agent, Workflow: job.Workflow, Model: job.Model,
		Status: job.Status, Reason: job.Reason, Seconds: took.Round(time.Millisecond).Seconds(), Artifacts: map[string]int{}}
	if f := past.Final; f != nil {
		c.Turns, c.Calls, c.Agents, c.Usage, c.Cost = f.Turns, f.Calls, f.Agents, f.Usage, a.cost(job.Model, f)
	}
	if c.Requests, err = requests(context.WithoutCancel(ctx), m.Store, job.ID); err != nil {
		return nil, 0, err
	}
	c.keep(job.Output)
	return c, exit.OfJob(ctx, job.Status), nil
}

// runs says what decides what comes next: the model, a workflow's code or a
// pipeline's file.
func (c *contender) runs() string {
	switch c.Workflow {
	case agents.Workflow.Name:
		return "agent"
	case pipeline.Workflow.Name:
		return "pipeline"
	}
	return "workflow " + c.Workflow
}

// keep takes the artifacts of a job's output.
func (c *contender) keep(output json.RawMessage) {
	var s struct {
		Artifacts map[string]struct{ Value json.RawMessage }
	}
	c.texts = map[string]string{}
	if json.Unmarshal(output, &s) != nil {
		return // a job that never got to its first turn has none
	}
	for name, art := range s.Artifacts {
		c.Artifacts[name] = len(art.Value)
		var text string
		if json.Unmarshal(art.Value, &text) != nil {
			text = render.Readable(art.Value)
		}
		c.texts[name] = text
	}
}

// requests counts what was asked of models: turns, and what tools asked.
func requests(ctx context.Context, log jobs.Store, id string) (n int, err error) {
	for ev, err := range log.Events(ctx, id, 0, false) {
		if err != nil {
			return n, err
		}
		if ev.Kind != event.StepFinished {
			continue
		}
		if ev.Step == "model" {
			n++
		}
		var d struct{ Spent []executor.ModelCost }
		if json.Unmarshal(ev.Data, &d) == nil {
			for _, s := range d.Spent {
				n += s.Requests
			}
		}
	}
	return n, nil
}

// differ shows how the sides differ in an artifact.
func differ(sides []*contender, name string) (string, error) {
	for _, c := range sides {
		if _, ok := c.texts[name]; !ok {
			have := strings.Join(slices.Sorted(maps.Keys(c.texts)), ", ")
			if have == "" {
				have = "none"
			}
			return "", exit.Usagef("leave out --artifact, or name one that both have", "%s has made no %s; its artifacts: %s", c.Asked, name, have)
		}
	}
	text := func(c *contender) string { return strings.TrimRight(c.texts[name], "\n") + "\n" }
	return udiff.Unified(sides[0].Asked+"/"+name, sides[1].Asked+"/"+name, text(sides[0]), text(sides[1])), nil
}

// sideBySide prints the table.
func (a *app) sideBySide(sides []*contender) {
	var rows render.Table
	row := func(name string, cell func(*contender) string) {
		cells := []string{name}
		for _, c := range sides {
			cells = append(cells, cell(c))
		}
		rows.Row(cells...)
	}
	row("", func(c *contender) string { return c.Asked })
	row("job", func(c *contender) string { return c.Job })
	row("runs", func(c *contender) string { return c.runs() })
	row("model", func(c *contender) string { return c.Model })
	row("outcome", func(c *contender) string { return string(c.Status) + ": " + render.Cut(c.Reason, 60) })
	row("turns", func(c *contender) string { return render.Count(c.Turns) })
	row("tool calls", func(c *contender) string { return render.Count(c.Calls) })
	if sides[0].Agents > 0 || sides[1].Agents > 0 {
		row("sub-agents", func(c *contender) string { return render.Count(c.Agents) })
	}
	row("model requests", func(c *contender) string { return render.Count(c.Requests) })
	row("tokens in", func(c *contender) string { return render.Count(c.Usage.In) })
	row("tokens out", func(c *contender) string { return render.Count(c.Usage.Out) })
	if sides[0].Cost > 0 || sides[1].Cost > 0 {
		row("USD", func(c *contender) string { return fmt.Sprintf("%.4f", c.Cost) })
	}
	row("time", func(c *contender) string { return render.Duration(time.Duration(c.Seconds * float64(time.Second))) })
	names := map[string]bool{}
	for _, c := range sides {
		for name := range c.Artifacts {
			names[name] = true
		}
	}
	for _, name := range sorted(names) {
		row(name, func(c *contender) string {
			if n, ok := c.Artifacts[name]; ok {
				return render.Count(n) + " bytes"
			}
			return "-"
		})
	}
	rows.Write(a.Stdout)
}
