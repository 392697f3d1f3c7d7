package cli

import (
	"context"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/cmd/version"
	"github.com/adroit-run/adroit/pkg/config"
)

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
	o.Person, o.Hook = a.asked.Person, killHook()
	a.rt, err = adroit.Open(context.Background(), o)
	return a.rt, err
}

// program is what it brings to its configuration.
func (a *app) program() config.Program {
	return config.Program{Tools: a.Tools, Workflows: a.Workflows, Now: a.now, Version: version.Read().Version, Warn: func(text string) { a.note("%s", text) }}
}
