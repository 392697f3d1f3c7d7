package adroit

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/host"
	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/internal/work/sandbox"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/guard/secret"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workflows"
	"github.com/adroit-run/adroit/pkg/workflows/coordinator"
	"github.com/adroit-run/adroit/pkg/workflows/pipeline"
)

// A Plan is a resolved request: what Submit would pin.
type Plan struct {
	Input    agents.Input     `json:"input"` // of the job
	Task     executor.Task    `json:"task"`
	Pinned   *pipeline.Pinned `json:"pinned,omitempty"` // of a request to a pipeline
	Workflow string           `json:"workflow"`
	Ignored  []string         `json:"ignored,omitempty"` // permissions of the agent that do not hold
	Stages   []string         `json:"stages,omitempty"`  // of a validation, a line each

	agent    string            // digest of the agent
	opens    bool              // the job opens its workspace
	replaced []secret.Replaced // in what was asked
}

// Resolve implements [JobWriter]: it binds a request to its agent, tools and
// model and settles what can be settled before there is a job, so that what is
// wrong fails here.
func (rt *Runtime) Resolve(ctx context.Context, r Request) (*Plan, error) {
	if err := rt.mayRequest(ctx, ScopeRead, r); err != nil {
		return nil, err
	}
	p, err := rt.planOf(ctx, r, false)
	if err != nil {
		return nil, problem.AsError(err)
	}
	for i := range p.Input.Attachments {
		p.Input.Attachments[i].Data = nil // Submit reads it again
	}
	if p.Workflow == workflows.ValidateStages.Name {
		p.Stages, err = workflows.PlannedStages(p.Task, func() (tools.Result, error) {
			res, err := rt.callTool(ctx, ToolCall{Name: "run_check", Args: json.RawMessage("{}"), Dir: r.Dir})
			if err != nil {
				return tools.Result{}, err
			}
			return res.Result, nil
		})
		if err != nil {
			return nil, problem.AsError(err)
		}
	}
	return p, nil
}

// planOf resolves a request. fetch is set if there is to be a job: then it fetches pages of the
// web that are attached, and refuses a directory where no job may work.
func (rt *Runtime) planOf(ctx context.Context, r Request, fetch bool) (*Plan, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	for _, label := range r.Labels {
		if !slices.Contains(rt.o.Labels, label) {
			return nil, problem.Invalidf("a host gets it by temporal.labels of its configuration", "the request asks for a host with the label %q, and the host has %s", label, cmp.Or(strings.Join(rt.o.Labels, ", "), "none"))
		}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	set, err := rt.tools()
	if err != nil {
		return nil, err
	}
	in := r.Input
	if _, err := os.Stat(in.Dir); in.Dir != "" && errors.Is(err, fs.ErrNotExist) {
		if r.Host == "" {
			return nil, noDirectory(in.Dir)
		}
		return nil, problem.Invalidf("clone the repository there, at this path", "the host %s has no directory %s", r.Host, in.Dir)
	}
	d, err := rt.trusts(in.Dir, r.Trust)
	if err != nil {
		return nil, err
	}
	m, err := rt.models.At(r.BaseURL, "")
	if err != nil {
		return nil, err
	}
	if len(turn.Mentions(in.Mentions)) == 0 {
		in.Mentions = "" // nothing to read, and no reason to bind again
	}
	agent, err := rt.catalog.Target(r.Target, d, m, &in)
	if err != nil {
		return nil, err
	}
	if in.Spec != nil { // it is kept without where it comes from
		own := agents.ByValue(in.Spec, set)
		in.Spec = &own
	}
	if err := rt.chooseModel(ctx, agent, m, &in); err != nil {
		return nil, cmp.Or(idle(agent, in), err)
	}
	p := &Plan{Ignored: agents.Ignored(agent), agent: agentDigest(agent), opens: rt.opens(ctx, rt.agentByValue(in), in, r.JobConfig, m)}
	if fetch && !in.Worktree && (p.opens || rt.o.Data != "") { // a worktree is elsewhere
		if err := rt.mayWorkIn(in.Dir, r.Sandbox); err != nil {
			return nil, err
		}
	}
	p.replaced = rt.hideTypedInput(agent, &in, p.opens)
	found, err := rt.bind(ctx, p, in, r.JobConfig, m)
	if err == nil && (in.Mentions != "" || len(in.Attachments) > 0) {
		if err := rt.attach(ctx, p, agent, &in, m, fetch); err != nil {
			return nil, err
		}
		found, err = rt.bind(ctx, p, in, r.JobConfig, m)
	}
	if price := new(agents.PriceError); errors.As(err, &price) {
		return nil, problem.Refuse(err, priceHint(price))
	}
	if err != nil {
		return nil, problem.Refuse(err, shows(in)+" says what it takes")
	}
	if p.Workflow, err = rt.catalog.WorkflowOf(agent, in); err != nil {
		return nil, err
	}
	if len(p.Task.Tools) > 0 {
		for _, problem := range found.Problems {
			rt.warn("%s", problem)
		}
	}
	in.Test = p.Task.Test // as it is now, also in a worktree elsewhere
	if p.Task.Memory != "" {
		in.Memory = p.Task.Memory // for the end of the job, which does not know the agent
	}
	p.Input = in
	return p, nil
}

// idle returns what a request to an agent lacks for anything to be done: then no model is needed.
func idle(agent *agents.DynamicAgent, in agents.Input) error {
	if _, err := agents.Asked(agent, &in); in.Pipeline == "" && err != nil {
		return problem.Refuse(fmt.Errorf("agent %s: %w", agent.Name, err), shows(in)+" says what it takes")
	}
	return nil
}

// bind binds the request of a plan to what it names.
func (rt *Runtime) bind(ctx context.Context, p *Plan, in agents.Input, c JobConfig, m ModelSource) (found projectContext, err error) {
	if in.Pipeline == "" {
		p.Task, found, err = rt.resolve(ctx, in, c, m)
		return found, err
	}
	p.Pinned = new(pipeline.Pinned)
	*p.Pinned, found, err = rt.pin(ctx, in, c, m)
	p.Task = p.Pinned.Task
	return found, err
}

// attach reads what goes with the prompt of a request, by the rules of the task that
// the request has without it.
func (rt *Runtime) attach(ctx context.Context, p *Plan, agent *agents.DynamicAgent, in *agents.Input, m ModelSource, fetch bool) error {
	dir, err := filepath.Abs(in.Dir)
	if err != nil {
		return err
	}
	r := host.Reader{Dir: dir, Agent: p.Task.Agent, Rules: p.Task.Rules, Model: p.Task.Model}
	taint, err := rt.readAttached(ctx, r, &in.Attached, m, fetch)
	if err != nil {
		return err
	}
	in.Taint |= taint
	if in.Pipeline == "" && agent.Runs() == agents.Workflow.Name {
		return nil
	}
	asked := in.To(in.Prompt)
	if len(asked.Images) > 0 {
		return problem.Invalidf("run an agent that talks with the model itself, such as builder", "%s decides by itself what its agents are asked: it takes no images", in.Name())
	}
	in.Prompt, in.Notes, in.Attachments = asked.Text, "", nil
	return nil
}

// readAttached reads what goes with a message. fetch has it fetch pages of the web.
func (rt *Runtime) readAttached(ctx context.Context, r host.Reader, a *executor.Attached, m ModelSource, fetch bool) (tools.Taint, error) {
	r.Names, r.Secrets, r.Find = rt.o.Names, rt.o.Secrets, rt.fileSecrets
	if c, ok := m.(ModelCatalog); ok {
		r.NoImages = c.NoImages
	}
	if fetch {
		r.Call = func(ctx context.Context, tool string, args json.RawMessage) (tools.Result, error) {
			res, err := rt.callTool(ctx, ToolCall{Name: tool, Args: args, Dir: r.Dir})
			if err != nil {
				return tools.Result{}, err
			}
			return res.Result, nil
		}
	}
	return r.Read(ctx, a)
}

// asksOnFailure reports whether an agent asks a model only about what failed: then it
// can go without one.
func asksOnFailure(a *agents.DynamicAgent) bool {
	return slices.Contains(modelOnFailure, a.Workflow) || a.Workflow == pipeline.Workflow.Name && a.Spawn != nil && slices.Index(a.Spawn.Agents, coordinator.Analyst) == 0
}

// modelOnFailure are the workflows that ask a model only to mend what failed.
var modelOnFailure = []string{coordinator.Workflow.Name, workflows.ValidateStages.Name}

// chooseModel settles the model of a request and sees to it that it can be asked.
func (rt *Runtime) chooseModel(ctx context.Context, agent *agents.DynamicAgent, m ModelSource, in *agents.Input) (err error) {
	switch {
	case in.Model != "":
		in.Model, err = m.Canonical(in.Model)
	case agent.Model == pipeline.NoModel:
		in.Model = pipeline.NoModel
	case agent.Model != "" && !m.Unset(agent.Model):
		in.Model, err = m.Canonical(agent.Model)
	default:
		if in.Model, err = m.Choose(ctx); err != nil && asksOnFailure(agent) {
			rt.warn("no model is there, so only code decides: %v", err)
			in.Model, err = pipeline.NoModel, nil
		}
	}
	if err != nil || in.Model == pipeline.NoModel {
		return err
	}
	if _, _, err := m.Open(in.Model); err != nil {
		return problem.Refuse(err, "")
	}
	if in.Options.Window > 0 {
		return nil
	}
	if in.Options.Window, err = m.Window(ctx, in.Model); err != nil {
		if r, err := m.Route(ctx, in.Model); err == nil && len(r.Fallbacks) > 0 {
			return nil
		}
	}
	return err
}

// shows is the command that shows what a request is to.
func shows(in agents.Input) string {
	if in.Pipeline != "" {
		return hint.Command("pipelines show %s", in.Pipeline)
	}
	return hint.Command("agents show %s", in.Name())
}

// priceHint shows the lines of the configuration that are missing.
func priceHint(e *agents.PriceError) string {
	var b strings.Builder
	b.WriteString("set what they cost in the config file, in USD per million tokens, with zeros for what is free:\nprices:")
	for _, ref := range e.Models {
		fmt.Fprintf(&b, "\n  %q: {in: …, out: …}", ref)
	}
	b.WriteString("\nor bound the tokens instead: --max-tokens N")
	return b.String()
}

// A Request asks for a job. It is to Target, an agent or a pipeline by name,
// or to what the Input names or holds.
type Request struct {
	agents.Input
	JobConfig
	// Target is the name of an agent or, if none has it, of a pipeline;
	// agent:NAME and pipeline:NAME mean one of them.
	Target string `json:"target,omitempty"`
	// Key makes submitting idempotent: the first job with it is the only one. Another request
	// with it, which differs in more than settings such as the model, mode and limits, is refused.
	Key string `json:"key,omitempty"`
	// Base is the commit that the job's worktree begins at, in full; it is fetched from the
	// repository's remotes where that lacks it. Empty: the last commit. Only an engine of several
	// hosts names one, of a job that goes on with another host.
	Base string `json:"base,omitempty"`
	// Title is the job's title in lists. Empty: the first line of the prompt,
	// without secrets.
	Title string `json:"title,omitempty"`
}

// fullHash reports whether s is the hash of a commit, and nothing else that git reads.
func fullHash(s string) bool {
	b, err := hex.DecodeString(s)
	return err == nil && (len(b) == 20 || len(b) == 32)
}

// Check returns what is invalid in a request, whatever it is to. Starting a job does so first.
func (r *Request) Check() error {
	switch bad := badLimit(r.Limits); {
	case r.Host != "" && r.Engine == "":
		return problem.Invalidf("leave it out; only an engine of several hosts places jobs", "the request names the host %q, and all jobs of this runtime run here", r.Host)
	case len(r.Labels) > 0 && r.Engine == "":
		return problem.Invalidf("leave them out; only an engine of several hosts places jobs", "the request asks for a host with %s, and all jobs of this runtime run here", strings.Join(r.Labels, ", "))
	case r.Base != "" && (r.Engine == "" || !r.Worktree || !fullHash(r.Base)):
		return problem.Invalidf("leave it out", "the request names %q as the commit that it begins at; that takes a full hash, a worktree and an engine of several hosts", r.Base)
	case bad != "":
		return problem.Invalidf("leave it out for the default", "%s", bad)
	case r.Approve != "" && !slices.Contains(agents.Approvals, r.Approve):
		return problem.Invalidf(oneOf(agents.Approvals), "--approve is %q", r.Approve)
	case r.Mode != "" && !slices.Contains(executor.Modes, r.Mode):
		return problem.Invalidf(oneOf(executor.Modes), "--mode is %q", r.Mode)
	case r.Calling != "" && !slices.Contains(turn.Modes, r.Calling):
		return problem.Invalidf(oneOf(turn.Modes), "--calling is %q", r.Calling)
	case !r.Options.Effort.Known():
		return problem.Invalidf("it is one of low, medium, high", "--effort is %q", r.Options.Effort)
	}
	if r.Sandbox != "" {
		if _, err := sandbox.Parse(string(r.Sandbox)); err != nil {
			return problem.Invalidf("", "--sandbox: %v", err)
		}
	}
	return nil
}

// badLimit describes the first invalid limit, "" if all are valid.
func badLimit(l executor.Limits) string {
	switch {
	case l.Turns < 0:
		return "--max-turns is negative"
	case l.Tokens < 0:
		return "--max-tokens is negative"
	case l.CostUSD < 0:
		return "--max-cost is negative"
	case !(l.CostUSD <= math.MaxFloat64):
		return "--max-cost is no number"
	case l.Time < 0:
		return "--timeout is negative"
	case l.Rejects < 0:
		return "the limit of rejected answers is negative"
	}
	return ""
}

func oneOf[T ~string](all []T) string {
	words := make([]string, len(all))
	for i, w := range all {
		words[i] = string(w)
	}
	return "it is one of " + strings.Join(words, ", ")
}
