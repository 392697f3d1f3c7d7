package cli

import (
	"context"
	"os"
	"path/filepath"

	"github.com/adroit-run/adroit/configs"
	"github.com/adroit-run/adroit/internal/jobdir"
	"github.com/adroit-run/adroit/internal/tools/edit"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/pipeline"
	"github.com/adroit-run/adroit/pkg/trust"
)

// jobConfig is what a job's runner must know and the job itself does not hold.
func (a *app) jobConfig(id string) (c adroit.JobConfig, err error) {
	data, err := a.dataDir()
	if err != nil {
		return c, err
	}
	return jobdir.LoadConfig(data, id)
}

// manager runs this machine's jobs.
func (a *app) manager(ctx context.Context) (*jobs.Manager, error) {
	if _, err := a.store(ctx); err != nil {
		return nil, err
	}
	rt, err := a.runtime()
	if err != nil {
		return nil, err
	}
	return rt.Manager(ctx)
}

// client is what commands use: the runtime, or what stands for it.
func (a *app) client() (adroit.Client, error) {
	rt, err := a.runtime()
	if err != nil {
		return nil, err
	}
	if a.Through != nil {
		return a.Through(rt), nil
	}
	return rt, nil
}

// runtime is the program's one runtime, with what the configuration says.
func (a *app) runtime() (*adroit.Runtime, error) {
	if a.rt != nil {
		return a.rt, nil
	}
	conf, err := a.config()
	if err != nil {
		return nil, err
	}
	data, err := a.dataDir()
	if err != nil {
		return nil, err
	}
	m, err := a.models("")
	if err != nil {
		return nil, err
	}
	confine, err := a.confinement("")
	if err != nil {
		return nil, err
	}
	o := adroit.Options{
		Tools: a.toolList(), Source: m, Workflows: a.workflows(),
		Data: data, DataInWorkspace: true, Store: func(ctx context.Context) (jobs.Store, error) { return a.readStore(ctx) },
		Trust: trust.In(data), ProjectBytes: conf.Conventions.Bytes, TestCommands: conf.TestCommands(a.Getenv("HOME")),
		Defaults: agents.Defaults{
			Substitutes: edit.Instead(conf.EditFormats), Budget: conf.Budget(),
			Model: conf.Model, Approve: conf.Approve, Mode: conf.Mode, Rules: conf.Permissions, Prices: conf.Prices,
			Limits: executor.Limits{Turns: conf.Limits.Turns, Tokens: conf.Limits.Tokens, CostUSD: conf.Limits.CostUSD, Time: conf.Limits.Time},
		},
		Servers: conf.LanguageServers(), NoDiagnostics: conf.Diagnostics == "off", Hooks: conf.HooksIn(a.Getenv("HOME")),
		Sandbox: confine, Network: conf.Network.Guard(), Names: a.names(), Secrets: a.redactor(),
		Person: a.person, Warn: func(text string) { a.note("%s", text) },
	}
	a.layers(&o)
	a.rt, err = adroit.Open(context.Background(), o)
	return a.rt, err
}

// layers are the files of agents, pipelines and skills: what is built in, then
// the user's.
func (a *app) layers(o *adroit.Options) {
	o.Agents = []agents.Layer{{Name: "built in", FS: configs.Agents(), Dir: "configs/agents"}}
	o.Pipelines = []pipeline.Layer{{Name: "built in", FS: configs.Pipelines(), Dir: "configs/pipelines"}}
	user := func(dir string, claude bool) agents.Layer {
		return agents.Layer{Name: "user", FS: os.DirFS(dir), Dir: dir, Claude: claude}
	}
	if h := a.Getenv("HOME"); h != "" {
		o.Agents = append(o.Agents, user(filepath.Join(h, ".claude", "agents"), true))
	}
	if d := a.configDir(); d != "" {
		o.Agents = append(o.Agents, user(filepath.Join(d, "agents"), false))
		dir := filepath.Join(d, "pipelines")
		o.Pipelines = append(o.Pipelines, pipeline.Layer{Name: "user", FS: os.DirFS(dir), Dir: dir})
		o.Skills = append(o.Skills, user(filepath.Join(d, "skills"), false))
	}
}

// rate says what models cost, in USD; it is 0 for one without a price.
func (a *app) rate() func(model string, u llm.Usage) float64 {
	c, err := a.config()
	if err != nil {
		return nil
	}
	return func(model string, u llm.Usage) float64 {
		p, _ := c.Prices.Of(model)
		return p.Cost(u)
	}
}

// cost is what a run has cost, in USD, 0 if its model has no price.
func (a *app) cost(model string, f *jobs.Final) float64 {
	if f.Cost > 0 {
		return f.Cost
	}
	rate := a.rate()
	if rate == nil {
		return 0
	}
	usd := 0.0
	for _, m := range sorted(f.Used) {
		usd += rate(m, llm.Usage(f.Used[m]))
	}
	if f.Used == nil {
		usd = rate(model, llm.Usage(f.Usage))
	}
	return usd
}
