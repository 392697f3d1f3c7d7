package cli

import (
	"context"
	"errors"
	"os"
	"slices"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/pipeline"
)

// jobConfig is what a job's runner must know and the job itself does not hold.
func (a *app) jobConfig(id string) (c adroit.JobConfig, err error) {
	data, err := a.dataDir()
	if err != nil {
		return c, err
	}
	return adroit.LoadJobConfig(data, id)
}

// manager runs this machine's jobs.
func (a *app) manager(ctx context.Context) (*jobs.Manager, error) {
	rt, err := a.runtime(ctx)
	if err != nil {
		return nil, err
	}
	return rt.Jobs, nil
}

// runtime is the program's one runtime, with what the configuration says.
func (a *app) runtime(ctx context.Context) (*adroit.Runtime, error) {
	if a.rt != nil {
		return a.rt, nil
	}
	db, err := a.store(ctx)
	if err != nil {
		return nil, err
	}
	conf, err := a.config()
	if err != nil {
		return nil, err
	}
	set, err := a.tools()
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
	a.rt, err = adroit.Open(ctx, adroit.Options{
		Tools: slices.Collect(set.All()), Source: m, Data: data, DataInWorkspace: true, Store: db, Workflows: a.workflows(),
		Defaults: agents.Defaults{Prices: conf.Prices},
		Servers:  conf.servers(), NoDiagnostics: conf.Diagnostics == "off", Hooks: conf.hooksIn(a.Getenv("HOME")),
		Sandbox: confine, Network: conf.Network.guard(), Names: a.names(), Secrets: a.redactor(),
		Person: a.person, Warn: func(text string) { a.complain(errors.New(text)) },
		Resolve: func(ctx context.Context, in agents.Input, c adroit.JobConfig, m adroit.ModelSource) (executor.Task, error) {
			t, _, err := a.resolveWith(ctx, in, c.Trust, m.(*models))
			return t, err
		},
		Pin: func(ctx context.Context, in agents.Input, c adroit.JobConfig, m adroit.ModelSource) (pipeline.Pinned, error) {
			pin, _, err := a.pin(ctx, in, c.Trust, m.(*models))
			return pin, err
		},
	})
	return a.rt, err
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

// forget removes what was kept beside a job that was not created after all.
func (a *app) forget(id string) error {
	if err := a.unroot(context.Background(), id, true); err != nil {
		return err
	}
	dir, err := a.jobDir(id)
	if err != nil {
		return err
	}
	return os.RemoveAll(dir)
}
