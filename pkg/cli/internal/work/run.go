// Package work has the commands that start work: adroit run, chat, continue, fix, commit,
// compare and demo.
package work

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/cli/internal/request"
	"github.com/adroit-run/adroit/pkg/cli/internal/show"
	"github.com/adroit-run/adroit/pkg/config"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// A runCommand is adroit run with its flags, which add has.
type runCommand struct {
	request.Flags
	json, deltas, detach, dry bool
	start                     adroit.StartOptions
	template                  request.Template
}

// NewRun is adroit run.
func NewRun(e *kit.Env) *cobra.Command {
	var q runCommand
	cmd := &cobra.Command{
		Use:   "run [AGENT|PIPELINE|FILE.md] [PROMPT|-]",
		Short: "Run an agent or a pipeline as a job",
		Long: "Runs an agent until its definition of done holds, a limit is reached or a person is needed.\n" +
			"If no agent has the name, the pipeline of that name is run; agent:NAME and pipeline:NAME say which is meant.\n" +
			"A file that ends in .md is run as an agent; it may narrow what is allowed, not widen it.\n" +
			"A first argument with a space or a letter beyond ASCII is a prompt for the default agent, as is a -. That agent is\n" +
			"agent: in the configuration (or ADROIT_AGENT), else assistant in a git repository.\n" +
			"Progress goes to stderr, the agent's last words to stdout. What is piped in is data\n" +
			"behind the prompt, at most 8 MiB, or is the prompt. A - waits for it, where it begins after more than a second.\n" +
			"In a loop that reads lines, add </dev/null, or the first run takes the rest of them.\n" +
			"Everything after -- is prompt.\n" +
			"@PATH in a prompt attaches a file, @PATH:10-40 lines of it, a directory its names, @shot.png an image,\n" +
			"and @https://... the text of a page.\n\n" +
			"Exit codes: 0 done, 1 failed, 2 usage, 3 stopped short of done, 4 waiting for a person,\n" +
			"5 cancelled, 130 and 143 stopped by a signal.",
		Example: "  adroit run builder \"make the failing tests pass\" -m ollama/qwen3:8b\n" +
			"  git diff | adroit run reviewer \"review this\"\n" +
			"  adroit run reviewer\n" +
			"  git log -5 | adroit run builder - --json",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return kit.Usagef(hint.Command("run builder \"fix the failing test\"")+"; "+hint.Command("agents list")+" lists the agents", "run needs an agent or a prompt")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			q.json = q.json || q.deltas
			return q.named(cmd.Context(), e, args, cmd.ArgsLenAtDash())
		},
	}
	q.add(cmd)
	return cmd
}

// named runs what the arguments name; those from dash on are words of the prompt.
func (q *runCommand) named(ctx context.Context, e *kit.Env, args []string, dash int) error {
	words := args
	if !sentence(args[0]) && dash != 0 {
		q.Target, words = args[0], args[1:]
	}
	if err := q.ReadPrompt(e, words); err != nil {
		return err
	}
	if err := q.ReadAgent(e); err != nil {
		return err
	}
	piped := q.Prompt
	err := q.run(ctx, e)
	unknown := len(words) == 0 && unknownAgent(err) && !near(ctx, e, &q.Flags)
	if unknown && piped != "" {
		// A word behind a pipe that is no agent's name and near none, as in: | adroit run explain
		q.Target, q.Prompt = "", request.Beside(q.Target, piped)
		err = q.run(ctx, e)
	} else if unknown {
		return problem.WithHint(err, problem.Hint(err)+"\n"+hint.Command("run assistant %s", q.Target)+" takes it as a prompt")
	}
	return unquoted(err, args)
}

// unknownAgent reports whether a request named an agent that there is none of.
func unknownAgent(err error) bool {
	e := new(problem.Error)
	return errors.As(err, &e) && e.Code == problem.UnknownAgent
}

// near reports whether the target of a request may be a mistyped name. One that cannot be compared is.
func near(ctx context.Context, e *kit.Env, q *request.Flags) bool {
	c, err := e.Client()
	if err != nil {
		return true
	}
	in := adroit.Scope{Dir: q.Dir, Trust: q.Trust}
	known, err := c.Agents(ctx, in)
	lines, err2 := c.Pipelines(ctx, in)
	if err != nil || err2 != nil {
		return true
	}
	var names []string
	for _, a := range known.Items {
		names = append(names, a.Name)
	}
	for _, p := range lines.Items {
		names = append(names, p.Name)
	}
	return spelling.Nearest(q.Target, names) != ""
}

// sentence reports whether a first argument is a prompt: a name is of ASCII without spaces, which
// some languages write none of, and a file of an agent ends in .md.
func sentence(arg string) bool {
	beyond := func(r rune) bool { return unicode.IsSpace(r) || r > unicode.MaxASCII }
	return arg == "-" || strings.ContainsFunc(arg, beyond) && !strings.HasSuffix(arg, ".md")
}

// unquoted adds to the error of an unknown agent how a sentence is given to the
// default agent.
func unquoted(err error, args []string) error {
	if len(args) < 2 || !unknownAgent(err) {
		return err
	}
	return problem.WithHint(err, problem.Hint(err)+"\n"+hint.Command("run %s", strings.Join(args, " "))+", in quotes, is for the default agent")
}

func (q *runCommand) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVarP(&q.Model, "model", "m", "", "provider/model, or script:FILE (or ADROIT_MODEL)")
	f.StringVar(&q.BaseURL, "base-url", "", "address of the model's server")
	f.StringVarP(&q.Workspace, "dir", "C", ".", "work in this directory")
	f.StringArrayVarP(&q.Pairs, "input", "i", nil, "an input, key=value; value may be JSON, @FILE, or - for stdin")
	f.StringVar(&q.template.Name, "template", "", "begin the prompt with one of an MCP server, SERVER/PROMPT; adroit mcp check SERVER lists them")
	f.StringArrayVar(&q.template.Pairs, "set", nil, "an argument of --template, key=value")
	f.StringVar((*string)(&q.Calling), "calling", "", "how the model calls tools: auto, native, constrained (held to a schema), text")
	f.StringVar((*string)(&q.Input.Options.Effort), "effort", "", "how much the model thinks: low, medium, high; left out if the model has no such setting")
	f.StringVar((*string)(&q.Mode), "mode", "", "permission mode: plan (read only), edits, or auto (also commands, in a sandbox) (or ADROIT_MODE)")
	f.StringVar((*string)(&q.Approve), "approve", "", "what is approved without asking: ask (nothing), edits, all; none denies what would be asked")
	request.Limits(f, &q.Limits, request.StopAfter)
	f.StringVar(&q.Key, "key", "", "run at most one job with this key; a second run gets the first one's job, also with another model, mode or limits")
	f.StringVar((*string)(&q.Sandbox), "sandbox", "", "confine commands at this level: auto, full, bubblewrap, landlock, off (or ADROIT_SANDBOX)")
	f.BoolVar(&q.json, "json", false, "print events as JSON, one a line, and nothing else")
	f.BoolVar(&q.deltas, "deltas", false, "--json, with the pieces of responses as they come (kind delta), which are not kept")
	request.AtOnce(f, &q.start)
	f.BoolVarP(&q.detach, "detach", "d", false, "run in the background and print the job's id")
	f.BoolVar(&q.Worktree, "worktree", false, "work in a git worktree of the last commit, on a branch of its own; see jobs merge")
	f.StringVar(&q.Host, "host", "", "with --engine temporal: run on this host")
	f.StringArrayVar(&q.Labels, "label", nil, "with --engine temporal: run on a host that has this label (config: temporal.labels)")
	f.StringVar(&q.Record, "record", "", "keep what the model answers in this new file; -m script:FILE plays it")
	f.StringVar(&q.Test, "test", "", "the command that runs the project's tests, as in --test \"make check\"; else that of the configuration, the project, or what is found")
	f.StringVar(&q.Memory, "memory", "", "what is recalled of earlier jobs: project, user, off; else what the agent's file says")
	f.BoolVar(&q.dry, "dry-run", false, "print what would run, and run nothing")
	f.BoolVar(&q.Trust, "trust-project", false, "load this project's agents, skills and AGENTS.md for this run")
}

func (q *runCommand) run(ctx context.Context, e *kit.Env) error {
	if err := request.AskTrust(ctx, e, &q.Flags, !q.json && !q.detach && !q.dry); err != nil {
		return err
	}
	if err := q.Read(e); err != nil {
		return err
	}
	c, err := e.Client()
	if err != nil {
		return err
	}
	if err := q.Begin(ctx, c, q.template); err != nil {
		return err
	}
	if q.dry {
		return request.DryRun(ctx, e, c, q.Request, q.json)
	}
	s, err := request.Submit(ctx, e, c, q.Request)
	if noModel(err) && !q.json && !q.detach {
		if c, err = chooseModel(ctx, e, c, err); err == nil {
			s, err = request.Submit(ctx, e, c, q.Request)
		}
	}
	if err != nil {
		return err
	}
	pruneOldJobs(ctx, e, c)
	switch {
	case s.Repeated:
		return q.repeated(ctx, e, c, s.Job)
	case q.detach:
		return request.Detach(ctx, e, c, s.Job.ID, q.start)
	}
	return request.Run(ctx, e, c, s.Job.ID, request.Options{StartOptions: q.start, JSON: q.json, Deltas: q.deltas, Window: s.Plan.Task.Options.Window, Known: show.KnownWindow(s.Plan.Task)})
}

// queueGrace is the time that the process which has just added a job has to begin it.
const queueGrace = 10 * time.Second

// repeated waits for the job that an earlier run with the same key began, if somebody runs it, and
// prints how it stands.
func (q *runCommand) repeated(ctx context.Context, e *kit.Env, c adroit.Client, job *jobs.Job) error {
	if q.detach {
		fmt.Fprintln(e.Out, job.ID)
		return nil
	}
	if !q.json {
		fmt.Fprintf(e.Err, "job %s has this key already: %s\n", job.ID, job.Status)
	}
	if job.Status == jobs.Queued || job.Status == jobs.Running {
		var err error
		if job, err = attached(ctx, c, job); err != nil {
			return err
		}
	}
	d, err := c.Job(ctx, job.ID)
	if err != nil {
		return err
	}
	if d.Job.Status == jobs.Queued && !q.json {
		fmt.Fprintf(e.Err, "nobody runs it; %s waits for it\n", hint.Command("jobs wait %s", job.ID))
	}
	if q.json {
		show.Event(e.Out, show.LastEvent(d, e.Now()))
	} else {
		show.Outcome(e.Screen(), e.OutScreen(), show.Ending{Job: d, Took: job.Updated.Sub(job.Started), Artifacts: request.Products(ctx, c, d)})
	}
	return kit.With(kit.OfJob(ctx, job.Status))
}

// attached waits for a job that another process runs, or is about to.
func attached(ctx context.Context, c adroit.Client, job *jobs.Job) (*jobs.Job, error) {
	runs := func(j *jobs.Job) bool { return j.Status == jobs.Running || j.Lease.Owner != "" }
	within, cancel := context.WithTimeout(ctx, queueGrace)
	defer cancel()
	if runs(job) {
		within = ctx
	}
	for {
		j, err := c.Wait(within, job.ID)
		switch {
		case err == nil:
			return j, nil
		case ctx.Err() != nil:
			return nil, kit.Stopped(ctx)
		case within.Err() == nil:
			return nil, err
		}
		d, err := c.Job(ctx, job.ID)
		if err != nil {
			return nil, err
		}
		if !runs(d.Job) {
			return d.Job, nil
		}
		within = ctx
	}
}

// pruneOldJobs removes the jobs that are older than the setting retention. A failure
// fails no job.
func pruneOldJobs(ctx context.Context, e *kit.Env, c adroit.Client) {
	conf, err := e.Config()
	if err != nil || conf.Retention == "" {
		return
	}
	age, err := config.ParseAge(conf.Retention)
	if err != nil {
		return
	}
	r, err := c.Prune(ctx, adroit.PruneOptions{Age: age})
	if err == nil {
		for _, note := range r.Notes {
			e.Warn("retention: %s", note)
		}
		err = r.Err()
	}
	if err != nil {
		e.Warn("retention: %v", err)
	}
}
