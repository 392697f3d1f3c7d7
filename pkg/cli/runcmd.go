package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/executor/toolcall"
	"github.com/adroit-run/adroit/internal/workspace/sandbox"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/cli/internal/env"
	"github.com/adroit-run/adroit/pkg/cli/internal/exit"
	"github.com/adroit-run/adroit/pkg/cli/internal/render"
	"github.com/adroit-run/adroit/pkg/cli/internal/term"
	"github.com/adroit-run/adroit/pkg/config"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/spf13/cobra"
)

// A request is what run was asked for.
type request struct {
	agent, prompt string
	model         string
	baseURL       string
	dir           string
	inputs        []string
	approve, mode string
	calling       string
	effort        string
	turns, tokens int
	cost          float64
	timeout       time.Duration
	key           string
	sandbox       string
	json, detach  bool
	dry, trust    bool
	worktree      bool
	test          string                     // the command that runs the project's tests
	record        string                     // a new file for what the model answers
	taint         tools.Taint                // of the prompt
	given         map[string]json.RawMessage // inputs, in place of those of the command line
}

func (a *app) runCommand() *cobra.Command {
	var q request
	cmd := &cobra.Command{
		Use:   "run AGENT|PIPELINE [PROMPT|-]",
		Short: "Run an agent or a pipeline as a job",
		Long: "Runs an agent until its definition of done holds, a limit is reached or a person is needed.\n" +
			"If no agent has the name, the pipeline of that name is run; agent:NAME and pipeline:NAME say which is meant.\n" +
			"Progress goes to stderr, the agent's last words to stdout. - reads the prompt from stdin;\n" +
			"behind -- everything is prompt.\n\n" +
			"Exit codes: 0 done, 1 failed, 2 usage, 3 stopped by a limit or stuck, 4 waiting for a person,\n" +
			"5 cancelled, 130 and 143 stopped by a signal.",
		Example: "  adroit run builder \"make the failing tests pass\" -m ollama/qwen3:8b\n" +
			"  git log -5 | adroit run builder - --json",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return exit.Usagef("adroit agents list lists the agents", "run needs an agent")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			q.agent = args[0]
			if err := a.prompt(&q, args[1:]); err != nil {
				return err
			}
			return a.run(cmd.Context(), q)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&q.model, "model", "m", "", "provider/model, or script:FILE (or ADROIT_MODEL)")
	f.StringVar(&q.baseURL, "base-url", "", "address of the model's server")
	f.StringVarP(&q.dir, "dir", "C", ".", "work in this directory")
	f.StringArrayVarP(&q.inputs, "input", "i", nil, "an input, key=value; value may be JSON, @FILE, or - for stdin")
	f.StringVar(&q.calling, "calling", "", "how the model calls tools: auto, native, constrained (held to a schema), text")
	f.StringVar(&q.effort, "effort", "", "how much the model thinks: low, medium, high; left out if the model has no such setting")
	f.StringVar(&q.mode, "mode", "", "permission mode: plan (read only), edits, or auto (also commands, in a sandbox) (or ADROIT_MODE)")
	f.StringVar(&q.approve, "approve", "", "what to ask a person about: ask, edits, all (approves everything), none (denies)")
	f.IntVar(&q.turns, "max-turns", 0, "stop after this many model calls")
	f.IntVar(&q.tokens, "max-tokens", 0, "stop after this many tokens, in and out")
	f.Float64Var(&q.cost, "max-cost", 0, "stop after this many USD; needs the model's price in the config")
	f.DurationVar(&q.timeout, "timeout", 0, "stop after this much active time, for example 30m")
	f.StringVar(&q.key, "key", "", "run at most one job with this key; a second run gets the first one's job")
	f.StringVar(&q.sandbox, "sandbox", "", "confine commands at this level: auto, full, bubblewrap, landlock, off (or ADROIT_SANDBOX)")
	f.BoolVar(&q.json, "json", false, "print events as JSON, one a line, and nothing else")
	f.BoolVarP(&q.detach, "detach", "d", false, "run in the background and print the job's id")
	f.BoolVar(&q.worktree, "worktree", false, "work in a git worktree of the last commit, on a branch of its own; see jobs merge")
	f.StringVar(&q.record, "record", "", "keep what the model answers in this new file; -m script:FILE plays it")
	f.StringVar(&q.test, "test", "", "the command that runs the project's tests, as in --test \"make check\"; else that of the configuration, the project, or what is found")
	f.BoolVar(&q.dry, "dry-run", false, "print what would run, and run nothing")
	f.BoolVar(&q.trust, "trust-project", false, "load this project's agents, skills and AGENTS.md for this run")
	return cmd
}

// prompt joins the words of the prompt, or reads it.
func (a *app) prompt(q *request, words []string) error {
	q.prompt = strings.Join(words, " ")
	if len(words) == 1 && words[0] == "-" {
		text, err := a.env().Content("-")
		if err != nil {
			return err
		}
		if strings.TrimSpace(text) == "" {
			return exit.Usagef("- reads the prompt from standard input, which has ended", "the prompt is empty")
		}
		q.prompt, q.taint = text, tools.Untrusted // what is piped in, others may have written
		if _, secret := a.redactor().String(text); secret {
			q.taint |= tools.Secret
		}
	}
	return nil
}

// request is what q asks the runtime for.
func (a *app) request(q request) (r adroit.Request, err error) {
	r = adroit.Request{Target: q.agent, Key: q.key,
		Input: agents.Input{Test: strings.TrimSpace(q.test), Prompt: q.prompt, Taint: q.taint, Approve: executor.Approve(q.approve), Mode: executor.Mode(q.mode),
			Calling: toolcall.Mode(q.calling), Model: q.model, ForAll: q.model != "", Worktree: q.worktree,
			Limits: executor.Limits{Turns: q.turns, Tokens: q.tokens, CostUSD: q.cost, Time: q.timeout}},
		JobConfig: adroit.JobConfig{BaseURL: q.baseURL, Trust: q.trust, Sandbox: sandbox.Level(q.sandbox), Record: q.record},
	}
	if r.Dir, err = env.Directory(q.dir); err != nil {
		return r, err
	}
	switch {
	case q.turns < 0:
		err = errors.New("--max-turns is negative")
	case q.tokens < 0:
		err = errors.New("--max-tokens is negative")
	case q.cost < 0:
		err = errors.New("--max-cost is negative")
	case q.timeout < 0:
		err = errors.New("--timeout is negative")
	}
	if err != nil {
		return r, exit.Usagef("leave it out for the default", "%v", err)
	}
	if r.Inputs, err = a.inputs(q.inputs, &r.Taint); err != nil {
		return r, err
	}
	if q.given != nil {
		r.Inputs = q.given
	}
	if a := r.Approve; a != "" && a != executor.ApproveAsk && a != executor.ApproveEdits && a != executor.ApproveAll && a != executor.ApproveNone {
		return r, exit.Usagef("it is one of ask, edits, all, none", "--approve is %q", a)
	}
	if r.Mode != "" && !slices.Contains(executor.Modes, r.Mode) {
		return r, exit.Usagef("it is one of plan, edits, auto", "--mode is %q", r.Mode)
	}
	if r.Calling != "" && !slices.Contains(toolcall.Modes, r.Calling) {
		return r, exit.Usagef(config.CallingHint, "--calling is %q", r.Calling)
	}
	if r.Options.Effort = llm.Effort(q.effort); !r.Options.Effort.Known() {
		return r, exit.Usagef(effortHint, "--effort is %q", q.effort)
	}
	conf, err := a.config()
	if err == nil {
		_, err = conf.Confinement(q.sandbox)
	}
	return r, err
}

// plan is what a request resolves to, without a job.
func (a *app) plan(ctx context.Context, q request) (*adroit.Plan, error) {
	r, err := a.request(q)
	if err != nil {
		return nil, err
	}
	rt, err := a.runtime()
	if err != nil {
		return nil, err
	}
	p, err := rt.Resolve(ctx, r)
	if err == nil {
		a.warnIgnored(p.Ignored)
	}
	return p, err
}

// submit adds the job of a request. With a key it may be one that there is.
func (a *app) submit(ctx context.Context, q request) (*adroit.Submitted, error) {
	r, err := a.request(q)
	if err != nil {
		return nil, err
	}
	rt, err := a.runtime()
	if err != nil {
		return nil, err
	}
	s, err := rt.Submit(ctx, r)
	if err != nil {
		return nil, err
	}
	a.warnIgnored(s.Plan.Ignored)
	a.worktreeBegins(s.Worktree)
	return s, nil
}

// inputs reads key=value pairs, and adds to taint what it finds.
func (a *app) inputs(pairs []string, taint *tools.Taint) (map[string]json.RawMessage, error) {
	var out map[string]json.RawMessage
	for _, p := range pairs {
		key, value, ok := strings.Cut(p, "=")
		if !ok || key == "" {
			return nil, exit.Usagef("for example -i issue=@issue.md", "-i %q is not key=value", p)
		}
		if _, twice := out[key]; twice {
			return nil, exit.Usagef("give each input once", "-i %s is given twice", key)
		}
		if file, ok := strings.CutPrefix(value, "@"); ok && a.names().NameError(file) != nil {
			*taint |= tools.Secret
			a.note("%s is on the list of secrets; what it holds goes to the model, as you ask", file)
		}
		text, err := a.env().Content(value)
		if err != nil {
			return nil, exit.Usagef("@ reads the value from a file", "-i %s: %v", key, err)
		}
		if _, secret := a.redactor().String(text); secret {
			*taint |= tools.Secret
		}
		v, err := structured(text)
		if err != nil {
			return nil, err
		}
		if out == nil {
			out = map[string]json.RawMessage{}
		}
		out[key] = v
	}
	return out, nil
}

// structured takes text as JSON if it is an object or an array, else as a
// string: an input of 007 stays what it is.
func structured(text string) (json.RawMessage, error) {
	if t := strings.TrimSpace(text); json.Valid([]byte(t)) && (strings.HasPrefix(t, "{") || strings.HasPrefix(t, "[")) {
		return json.RawMessage(t), nil
	}
	return json.Marshal(text)
}

func (a *app) run(ctx context.Context, q request) error {
	if err := a.welcome(ctx, q); err != nil {
		return err
	}
	if q.dry {
		p, err := a.plan(ctx, q)
		if err != nil {
			return err
		}
		return a.dryRun(ctx, p, q)
	}
	s, err := a.submit(ctx, q)
	if err != nil {
		return err
	}
	m, err := a.manager(ctx)
	if err != nil {
		return err
	}
	a.retire(ctx)
	if s.Repeated {
		return a.repeated(ctx, s.Job, q)
	}
	if q.detach {
		return a.detach(ctx, s.Job)
	}
	if !q.json {
		a.header(ctx, s.Job, s.Plan.Task.Options.Window)
	}
	return a.drive(ctx, m, s.Job, q.json)
}

// repeated handles a run whose key an earlier job has.
func (a *app) repeated(ctx context.Context, job *jobs.Job, q request) error {
	if q.detach {
		fmt.Fprintln(a.Stdout, job.ID)
		return nil
	}
	if !q.json {
		fmt.Fprintf(a.Stderr, "job %s has this key already: %s\n", job.ID, job.Status)
	}
	if job.Status == jobs.Queued || job.Status == jobs.Running {
		fmt.Fprintf(a.Stderr, "adroit jobs wait %s waits for it\n", job.ID)
	}
	if err := a.standing(ctx, job.ID, q.json, job.Updated.Sub(job.Started)); err != nil {
		return err
	}
	return exit.With(exit.OfJob(ctx, job.Status))
}

// header is the first line of a run.
func (a *app) header(ctx context.Context, j *jobs.Job, window int) {
	model := j.Model
	if window > 0 {
		model += a.windowWords(ctx, j, window)
	}
	model += outside(j.Model)
	s := a.screen()
	text := render.SanitizeLine(fmt.Sprintf("job %s  %s  %s  sandbox %s  %s", j.ID, j.Agent, model, a.jobSandbox(j.ID), a.place(j)))
	fmt.Fprintln(s, s.Paint(term.Bold, text))
	a.neighbours(ctx, j)
}

// neighbours names the other jobs that run in the same directory, or in one
// that contains the other: each may meet what the other is about to change.
func (a *app) neighbours(ctx context.Context, j *jobs.Job) {
	all, err := a.db.List(ctx, jobs.Query{Status: []jobs.Status{jobs.Running}})
	if err != nil {
		return // the run will say what is wrong with the store
	}
	for _, o := range all {
		if o.ID != j.ID && overlap(o.Dir, j.Dir) {
			fmt.Fprintf(a.Stderr, "%s is also working here; --worktree keeps them apart\n", o.ID)
		}
	}
}

// overlap reports whether two directories are one, or one lies in the other.
func overlap(a, b string) bool {
	a, b = filepath.Clean(a)+string(filepath.Separator), filepath.Clean(b)+string(filepath.Separator)
	return strings.HasPrefix(a, b) || strings.HasPrefix(b, a)
}

// windowWords says which context window was asked for and what the server
// says it gave.
func (a *app) windowWords(ctx context.Context, j *jobs.Job, window int) string {
	s, err := a.jobConfig(j.ID)
	if err != nil {
		return ""
	}
	rt, err := a.runtime()
	if err != nil {
		return ""
	}
	m, err := rt.ModelState(ctx, adroit.ModelQuery{Model: j.Model, BaseURL: s.BaseURL, Window: window})
	if err != nil {
		return ""
	}
	switch given := m.Given; given {
	case window:
		return fmt.Sprintf(" (window %d, verified)", window)
	case 0:
		return fmt.Sprintf(" (window %d, not verified)", window)
	default:
		return fmt.Sprintf(" (window %d asked, %d given)", window, given)
	}
}

// dryRun prints the task that a run would pin.
func (a *app) dryRun(ctx context.Context, p *adroit.Plan, q request) error {
	if p.Pinned != nil {
		return a.dryPipeline(p, q)
	}
	in, t := p.Input, p.Task
	if q.json {
		return a.json(t)
	}
	var names []string
	size := len(t.System) + len(t.Prompt)
	for _, tool := range t.Tools {
		names = append(names, tool.Name)
		size += len(tool.Name) + len(tool.Description) + len(tool.Input)
	}
	done, err := json.Marshal(t.Done)
	if err != nil {
		return err
	}
	l := t.Limits.Or(executor.DefaultLimits)
	bounds := []string{render.Plural(l.Turns, "turn"), render.Plural(l.Tokens, "token"), l.Time.String()}
	if l.CostUSD > 0 {
		bounds = append(bounds, fmt.Sprintf("%.2f USD", l.CostUSD))
	}
	var rows render.Table
	rows.Row("agent", t.Agent)
	rows.Row("model", strings.Join(executor.Route{Model: t.Model, Fallbacks: t.Fallbacks}.Refs(), ", then "))
	if t.Think != nil {
		rows.Row("thinks with", strings.Join(t.Think.Refs(), ", then "))
	}
	if w := render.Window(t); w != "" {
		rows.Row("window", w)
	}
	if e := t.Options.Effort; e != "" {
		rows.Row("effort", a.effort(ctx, q.baseURL, t.Model, e))
	}
	rows.Row("directory", a.home(in.Dir))
	rows.Row("tools", strings.Join(names, ", "))
	render.ShortenedRows(&rows, "", t.ShortenedTools)
	rows.Row("done", string(done))
	if tests := render.Tests(t); tests != "" {
		rows.Row("tests", tests)
	}
	rows.Row("limits", strings.Join(bounds, ", "))
	rows.Row("mode", string(t.Mode))
	for _, r := range t.Rules {
		rows.Row("permission", r.String())
	}
	rows.Row("approve", string(t.Approve))
	rows.Row("prompt", fmt.Sprintf("about %s with tools", render.Plural(render.Tokens(size), "token")))
	rows.Write(a.Stdout)
	fmt.Fprintf(a.Stdout, "\n%s\n\n%s\n", render.Sanitize(t.System), render.Sanitize(t.Prompt))
	return nil
}
