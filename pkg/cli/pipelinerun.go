package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/cli/exit"
	"github.com/adroit-run/adroit/pkg/cli/render"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/pipeline"
)

// Prefixes that say which of an agent and a pipeline is meant.
const (
	agentPrefix    = "agent:"
	pipelinePrefix = "pipeline:"
)

// chosen finds what a request is to: an agent, or the one that stands for a
// pipeline if no agent has the name; in gets the name of either.
func (a *app) chosen(q request, v vouch, in *agents.Input) (*agents.DynamicAgent, error) {
	cat, _ := a.catalogOf(v)
	if name, ok := strings.CutPrefix(q.agent, agentPrefix); ok {
		return a.named(cat, name, in)
	}
	all, _ := a.pipelines(v)
	name, meant := strings.CutPrefix(q.agent, pipelinePrefix)
	if !meant {
		_, err := cat.Lookup(name)
		isAgent := !errors.As(err, new(*agents.UnknownError))
		switch {
		case isAgent && all.Has(name):
			return nil, exit.Usagef(fmt.Sprintf("say %s%s or %s%s", pipelinePrefix, name, agentPrefix, name), "there is an agent and a pipeline %q", name)
		case isAgent:
			return a.named(cat, name, in)
		case !all.Has(name):
			return nil, a.unknownTarget(cat, all, name, in.Dir)
		}
	}
	p, err := a.pipeline(all, name)
	if err != nil {
		return nil, err
	}
	m, err := a.models(q.baseURL)
	if err != nil {
		return nil, err
	}
	k, err := a.known(v, m)
	if err != nil {
		return nil, err
	}
	for _, w := range pipeline.Lint(p, k) {
		if w.Severity == agents.Warning {
			a.note("%s", w)
		}
	}
	if p, err = pipeline.Pin(p, k); err != nil {
		return nil, exit.Usagef("adroit pipelines lint checks all of them", "pipeline %s cannot be used:\n%s", name, err)
	}
	if err := p.EachModel(func(ref *string) error {
		if m.lesser(*ref) {
			*ref = ""
		}
		return nil
	}); err != nil {
		return nil, err
	}
	switch {
	case in.Limits.Turns > 0:
		return nil, exit.Usagef("give its steps limits: {turns: N}, or bound all of them by --max-tokens, --max-cost or --timeout", "--max-turns is for agents, and %s is a pipeline", p.Name)
	case len(p.Inputs) == 0 && len(in.Inputs) > 0:
		return nil, exit.Usagef("declare them under inputs: in its file", "the pipeline %s takes no inputs", p.Name)
	case p.Prompted() && strings.TrimSpace(in.Prompt) == "":
		return nil, exit.Usagef(fmt.Sprintf("for example: adroit run %s \"add CSV export\"", q.agent), "the pipeline %s reads {{input}}, and there is no prompt", p.Name)
	}
	in.Agent, in.Pipeline = p.Name, p.Name
	agent, _ := p.Carrier()
	return agent, nil
}

// unknownTarget says that neither an agent nor a pipeline has a name.
func (a *app) unknownTarget(cat *agents.Catalog, all *pipeline.Catalog, name, dir string) error {
	if _, ours := fs.Stat(os.DirFS(dir), projectPipelines+"/"+name+".yaml"); ours == nil && fs.ValidPath(name) {
		return exit.Usagef("adroit trust shows and trusts what is there; --trust-project uses it this once", "this directory has a pipeline %q, and nobody trusts it yet", name)
	}
	if n := nearest(name, all.Names()); n != "" && nearest(name, cat.Names()) == "" {
		return exit.Usagef("did you mean the pipeline "+n+"?\nadroit agents list and adroit pipelines list list what there is", "unknown agent %q", name)
	}
	_, err := a.agent(cat, name, dir)
	return err
}

func (a *app) named(cat *agents.Catalog, name string, in *agents.Input) (*agents.DynamicAgent, error) {
	agent, err := a.agent(cat, name, in.Dir)
	if err == nil {
		in.Agent = agent.Name
	}
	return agent, err
}

// shown is the command that shows what a request is to.
func (a *app) shown(in agents.Input) string {
	if in.Pipeline != "" {
		return "adroit pipelines show " + in.Pipeline
	}
	return "adroit agents show " + in.Agent
}

// pipeline finds one by name, with a hint for what else could be meant.
func (a *app) pipeline(all *pipeline.Catalog, name string) (*pipeline.Pipeline, error) {
	p, err := all.Lookup(name)
	switch {
	case errors.As(err, new(*pipeline.UnknownError)):
		hint := "adroit pipelines list lists the pipelines"
		if n := nearest(name, all.Names()); n != "" {
			hint = "did you mean " + n + "?\n" + hint
		}
		return nil, exit.Usagef(hint, "unknown pipeline %q", name)
	case err != nil:
		return nil, exit.Usagef("adroit pipelines lint checks all of them", "pipeline %s cannot be used:\n%s", name, err)
	}
	return p, nil
}

// dryPipeline prints what a run of a pipeline would do.
func (a *app) dryPipeline(ctx context.Context, in agents.Input, t executor.Task, q request) error {
	m, err := a.models(q.baseURL)
	if err != nil {
		return err
	}
	pin, _, err := a.pin(ctx, in, q.trust, m)
	if err != nil {
		return err
	}
	if q.json {
		return a.json(pin)
	}
	var names []string
	for _, tool := range t.Tools {
		names = append(names, tool.Name)
	}
	l := t.Limits.Or(executor.DefaultLimits)
	var rows render.Table
	rows.Row("pipeline", pin.Pipeline.Name)
	rows.Row("model", t.Model)
	rows.Row("directory", a.home(in.Dir))
	if names != nil {
		rows.Row("tools", strings.Join(names, ", "))
	}
	rows.Row("limits", fmt.Sprintf("%s, %s, of all steps together", render.Plural(l.Tokens, "token"), l.Time))
	rows.Row("mode", string(t.Mode))
	rows.Row("approve", string(t.Approve))
	rows.Write(a.Stdout)
	fmt.Fprintf(a.Stdout, "\n%s\n", render.Sanitize(pin.Pipeline.Text()))
	return nil
}
