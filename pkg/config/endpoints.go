package config

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/adroit-run/adroit/pkg/config/internal/provider"
	"github.com/adroit-run/adroit/pkg/models/openai"
)

// An endpoint is an OpenAI-compatible server. KeyEnv names the variable that
// holds the key: the file never does.
type endpoint struct {
	BaseURL string            `yaml:"base_url"`
	KeyEnv  string            `yaml:"key_env"`
	Headers map[string]string `yaml:"headers" show:"set"` // one may carry a key

	Dialect    string         `yaml:"dialect"`
	APIVersion string         `yaml:"api_version"`
	OneCall    bool           `yaml:"one_call"`
	Body       map[string]any `yaml:"body" show:"json"`

	IdleTimeout time.Duration `yaml:"idle_timeout"`
	Timeout     time.Duration `yaml:"timeout"`
}

// A rate is a price in USD per million tokens.
type rate struct {
	In     float64 `yaml:"in"`
	Out    float64 `yaml:"out"`
	Cached float64 `yaml:"cached"`
}

// checkEndpoints checks the endpoints: what their adapter would refuse, it does not take.
func (c *Config) checkEndpoints(at place) error {
	for _, name := range slices.Sorted(maps.Keys(c.Endpoints)) {
		e := c.Endpoints[name]
		open := func(e endpoint) error {
			_, err := (provider.Endpoint{Config: e.openAI(name)}).Open()
			return err
		}
		switch {
		case slices.Contains(provider.Builtin, name):
			return fail(fmt.Errorf("%s: endpoints.%s: the name is taken by a provider that is built in", at("endpoints", name), name), "choose another name")
		case e.BaseURL == "":
			return fail(fmt.Errorf("%s: endpoints.%s has no base_url", at("endpoints", name, "base_url"), name), "for example base_url: http://127.0.0.1:8000/v1")
		}
		if err := open(e); err != nil {
			return fail(fmt.Errorf("%s: endpoints.%w", culprit(at, e, open, "endpoints", name), err), "correct it there")
		}
	}
	return nil
}

// openAI is the endpoint's configuration for its adapter, without the key.
func (e endpoint) openAI(name string) openai.Config {
	return openai.Config{Name: name, BaseURL: e.BaseURL, Headers: e.Headers,
		Dialect: e.Dialect, APIVersion: e.APIVersion, OneCall: e.OneCall, Body: e.Body, IdleTimeout: e.IdleTimeout, Timeout: e.Timeout}
}
