package adroit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/apierr"
	"github.com/adroit-run/adroit/internal/attachment/reader"
	"github.com/adroit-run/adroit/internal/coordinator"
	"github.com/adroit-run/adroit/internal/pipeline"
	"github.com/adroit-run/adroit/internal/projectdir"
	"github.com/adroit-run/adroit/internal/spelling"
	"github.com/adroit-run/adroit/internal/workflows"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/tools"
)

// A Plan is what a request has resolved to: what Submit would pin.
type Plan struct {
	Input    agents.Input     `json:"input"` // of the job
	Task     executor.Task    `json:"task"`
	Pinned   *pipeline.Pinned `json:"pinned,omitempty"` // of a request to a pipeline
	Workflow string           `json:"workflow"`
	Ignored  []string         `json:"ignored,omitempty"` // permissions of the agent that do not hold

	agent string // digest of the agent
}

// Prefixes of Request.Target that mean an agent or a pipeline.
const (
	agentPrefix    = "agent:"
	pipelinePrefix = "pipeline:"
)

// Resolve implements [JobWriter]: it binds a request to its agent, tools and
// model and settles what can be settled before there is a job, so that what is
// wrong fails here.
func (rt *Runtime) Resolve(ctx context.Context, r Request) (*Plan, error) {
	p, err := rt.planOf(ctx, r, false)
	if err != nil {
		return nil, apierr.AsError(err)
	}
	for i := range p.Input.Attachments {
		p.Input.Attachments[i].Data = nil // Submit reads it again
	}
	return p, nil
}

// planOf resolves a request. fetch has it fetch pages of the web that are attached.
func (rt *Runtime) planOf(ctx context.Context, r Request, fetch bool) (*Plan, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	in := r.Input
	d, err := rt.trusts(in.Dir, r.Trust)
	if err != nil {
		return nil, err
	}
	m, err := rt.models.At(r.BaseURL, "")
	if err != nil {
		return nil, err
	}
	agent, err := rt.target(r, d, m, &in)
	if err != nil {
		return nil, err
	}
	if err := rt.chooseModel(ctx, agent, m, &in); err != nil {
		return nil, err
	}
	p := &Plan{Ignored: agent.Ignored(), agent: agentDigest(agent)}
	found, err := rt.bind(ctx, p, in, r.JobConfig, m)
	if err == nil && (in.Mentions != "" || len(in.Attachments) > 0) {
		if err := rt.attach(ctx, p, agent, &in, m, fetch); err != nil {
			return nil, err
		}
		found, err = rt.bind(ctx, p, in, r.JobConfig, m)
	}
	if price := new(agents.PriceError); errors.As(err, &price) {
		return nil, apierr.Refuse(err, priceHint(price))
	}
	if err != nil {
		return nil, &apierr.Error{Kind: apierr.Invalid, Message: err.Error(), Hint: shows(in) + " says what it takes", Err: err}
	}
	if p.Workflow, err = rt.workflowOf(agent, in); err != nil {
		return nil, err
	}
	if len(p.Task.Tools) > 0 {
		for _, problem := range found.problems {
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
	r := reader.Reader{Dir: dir, Agent: p.Task.Agent, Rules: p.Task.Rules, Model: p.Task.Model}
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
		return apierr.Invalidf("run an agent that talks with the model itself, such as builder", "%s decides by itself what its agents are asked: it takes no images", in.Name())
	}
	in.Prompt, in.Attachments = asked.Text, nil
	return nil
}

// readAttached reads what goes with a message. fetch has it fetch pages of the web.
func (rt *Runtime) readAttached(ctx context.Context, r reader.Reader, a *executor.Attached, m ModelSource, fetch bool) (tools.Taint, error) {
	r.Names, r.Secrets = rt.o.Names, rt.o.Secrets
	if c, ok := m.(ModelCatalog); ok {
		r.NoImages = c.NoImages
	}
	if fetch {
		r.Call = func(ctx context.Context, tool string, args json.RawMessage) (tools.Result, error) {
			return rt.callTool(ctx, ToolCall{Name: tool, Args: args, Dir: r.Dir})
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
		return apierr.Refuse(err, "")
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

// target finds what a request is to: an agent, or the one that stands for a
// pipeline if no agent has the name; in gets the name of either.
func (rt *Runtime) target(r Request, d trustDecision, m ModelSource, in *agents.Input) (*agents.DynamicAgent, error) {
	cat, _ := rt.agentCatalog(d)
	all, _ := rt.pipelineCatalog(d)
	name := r.Target
	switch {
	case name == "" && in.Pipeline != "":
		name = pipelinePrefix + in.Pipeline
	case name == "" && in.Spec != nil:
		return in.Spec, nil
	case name == "" && in.Agent == "":
		var err error
		if name, err = rt.defaultAgent(in.Dir); err != nil {
			return nil, err
		}
	case name == "":
		name = agentPrefix + in.Agent
	}
	if name, ok := strings.CutPrefix(name, agentPrefix); ok {
		return rt.named(cat, name, in)
	}
	name, meant := strings.CutPrefix(name, pipelinePrefix)
	if !meant {
		_, err := cat.Lookup(name)
		isAgent := !errors.As(err, new(*agents.UnknownError))
		switch {
		case isAgent && all.Has(name):
			return nil, apierr.Invalidf(fmt.Sprintf("say %s%s or %s%s", pipelinePrefix, name, agentPrefix, name), "there is an agent and a pipeline %q", name)
		case isAgent:
			return rt.named(cat, name, in)
		case !all.Has(name):
			return nil, rt.unknownTarget(cat, all, name, in.Dir)
		}
	}
	return rt.pipelineTarget(all, name, d, m, in)
}

// defaultAgent is the agent of a request that names none.
func (rt *Runtime) defaultAgent(dir string) (string, error) {
	if rt.o.Agent != "" {
		return agentPrefix + rt.o.Agent, nil
	}
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, ".git")); err == nil {
			return agentPrefix + "builder", nil
		}
		if at == filepath.Dir(at) {
			return "", apierr.Invalidf("adroit run AGENT \"...\" names one, and adroit agents lists them; agent: NAME in the configuration is the default everywhere", "no agent is named, and %s is in no git repository, where it would be builder", dir)
		}
	}
}

// pipelineTarget finds the agent that stands for a pipeline.
func (rt *Runtime) pipelineTarget(all *pipeline.Catalog, name string, d trustDecision, m ModelSource, in *agents.Input) (*agents.DynamicAgent, error) {
	p, err := findPipeline(all, name)
	if err != nil {
		return nil, err
	}
	k := rt.known(d, m)
	for _, w := range pipeline.Lint(p, k) {
		if w.Severity == agents.Warning {
			rt.warn("%s", w)
		}
	}
	if p, err = pipeline.Pin(p, k); err != nil {
		return nil, apierr.Invalidf("adroit pipelines lint checks all of them", "pipeline %s cannot be used:\n%s", name, err)
	}
	if err := p.EachModel(func(ref *string) error {
		if m.Unset(*ref) {
			*ref = ""
		}
		return nil
	}); err != nil {
		return nil, err
	}
	switch {
	case in.Limits.Turns > 0:
		return nil, apierr.Invalidf("give its steps limits: {turns: N}, or bound all of them by --max-tokens, --max-cost or --timeout", "--max-turns is for agents, and %s is a pipeline", p.Name)
	case len(p.Inputs) == 0 && len(in.Inputs) > 0:
		return nil, apierr.Invalidf("declare them under inputs: in its file", "the pipeline %s takes no inputs", p.Name)
	case p.Prompted() && strings.TrimSpace(in.Prompt) == "":
		return nil, apierr.Invalidf(fmt.Sprintf("for example: adroit run %s \"add CSV export\"", name), "the pipeline %s reads {{input}}, and there is no prompt", p.Name)
	}
	in.Agent, in.Pipeline = p.Name, p.Name
	agent, _ := p.Carrier()
	return agent, nil
}

// unknownTarget is the error for a name that neither an agent nor a pipeline has.
func (rt *Runtime) unknownTarget(cat *agents.Catalog, all *pipeline.Catalog, name, dir string) error {
	if _, ours := fs.Stat(os.DirFS(dir), projectdir.Pipelines+"/"+name+".yaml"); ours == nil && fs.ValidPath(name) {
		return apierr.Invalidf("adroit trust shows and trusts what is there; --trust-project uses it this once", "this directory has a pipeline %q, and nobody trusts it yet", name)
	}
	if n := spelling.Nearest(name, all.Names()); n != "" && spelling.Nearest(name, cat.Names()) == "" {
		return apierr.Invalidf("did you mean the pipeline "+n+"?\nadroit agents list and adroit pipelines list list what there is", "unknown agent %q", name)
	}
	_, err := rt.findAgent(cat, name, dir)
	return err
}

func (rt *Runtime) named(cat *agents.Catalog, name string, in *agents.Input) (*agents.DynamicAgent, error) {
	agent, err := rt.findAgent(cat, name, in.Dir)
	if err == nil {
		in.Agent = agent.Name
	}
	return agent, err
}

// findAgent finds an agent by name. The error has a hint for what else could be
// meant, also in the workspace dir.
func (rt *Runtime) findAgent(cat *agents.Catalog, name, dir string) (*agents.DynamicAgent, error) {
	agent, err := cat.Lookup(name)
	var unknown *agents.UnknownError
	var bad *agents.ProblemError
	switch {
	case errors.As(err, &unknown):
		hint := "adroit agents list lists the agents"
		if unknown.Near != "" {
			hint = "did you mean " + unknown.Near + "?\n" + hint
		}
		if _, ours := fs.Stat(os.DirFS(dir), projectdir.Agents+"/"+name+".md"); ours == nil && fs.ValidPath(name) {
			hint = "this directory has an agent of that name: adroit trust shows and trusts what is there; --trust-project uses it this once"
		}
		return nil, apierr.Invalidf(hint, "unknown agent %q", name)
	case errors.As(err, &bad):
		return nil, apierr.Invalidf("adroit agents lint checks all of them", "agent %s cannot be used:\n%s", name, bad)
	}
	if now, renamed := cat.Renamed(name); renamed && err == nil {
		rt.warn("the agent %s is called %s now", name, now)
	}
	return agent, err
}

// findPipeline finds a pipeline by name. The error has a hint for what else
// could be meant.
func findPipeline(all *pipeline.Catalog, name string) (*pipeline.Pipeline, error) {
	p, err := all.Lookup(name)
	switch {
	case errors.As(err, new(*pipeline.UnknownError)):
		hint := "adroit pipelines list lists the pipelines"
		if n := spelling.Nearest(name, all.Names()); n != "" {
			hint = "did you mean " + n + "?\n" + hint
		}
		return nil, apierr.Invalidf(hint, "unknown pipeline %q", name)
	case err != nil:
		return nil, apierr.Invalidf("adroit pipelines lint checks all of them", "pipeline %s cannot be used:\n%s", name, err)
	}
	return p, nil
}

// shows is the command that shows what a request is to.
func shows(in agents.Input) string {
	if in.Pipeline != "" {
		return "adroit pipelines show " + in.Pipeline
	}
	return "adroit agents show " + in.Name()
}

// workflowOf is the workflow that runs the agent of a request.
func (rt *Runtime) workflowOf(agent *agents.DynamicAgent, in agents.Input) (string, error) {
	if in.Pipeline != "" {
		return pipeline.Workflow.Name, nil
	}
	name := agent.Runs()
	var all []string
	for _, w := range rt.workflows() {
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

// workflows are those that jobs here may run.
func (rt *Runtime) workflows() []flow.Workflow {
	all := []flow.Workflow{agents.Workflow, pipeline.Workflow}
	for _, w := range rt.o.Workflows {
		if !slices.ContainsFunc(all, func(have flow.Workflow) bool { return have.Name == w.Name }) {
			all = append(all, w)
		}
	}
	return all
}
