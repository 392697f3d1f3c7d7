package cli

import (
	"context"

	"github.com/adroit-run/adroit/internal/jobdir"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/config"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/llm"
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

// runtime is the program's one runtime, as it is configured.
func (a *app) runtime() (*adroit.Runtime, error) {
	if a.rt != nil {
		return a.rt, nil
	}
	conf, err := a.config()
	if err != nil {
		return nil, err
	}
	o, err := conf.Options(a.program())
	if err != nil {
		return nil, err
	}
	a.hide = o.Secrets
	o.Store = func(ctx context.Context) (jobs.Store, error) { return a.readStore(ctx) }
	o.Person, o.Warn = a.person, func(text string) { a.note("%s", text) }
	a.rt, err = adroit.Open(context.Background(), o)
	return a.rt, err
}

// program is what it brings to its configuration.
func (a *app) program() config.Program {
	return config.Program{Tools: a.Tools, Workflows: a.Workflows, Now: a.now}
}

// rate says what models cost, in USD; it is 0 for one without a price.
func (a *app) rate() func(model string, u llm.Usage) float64 { return a.env().Rate() }

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
