package config

import (
	"time"

	"github.com/adroit-run/adroit/internal/llm/openai"
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

// openAI is the endpoint's configuration for its adapter, without the key.
func (e endpoint) openAI(name string) openai.Config {
	return openai.Config{Name: name, BaseURL: e.BaseURL, Headers: e.Headers,
		Dialect: e.Dialect, APIVersion: e.APIVersion, OneCall: e.OneCall, Body: e.Body, IdleTimeout: e.IdleTimeout, Timeout: e.Timeout}
}
