package config

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/adroit-run/adroit/internal/llm/openai"
)

// An endpoint is an OpenAI-compatible server. KeyEnv names the variable that
// holds the key: the file never does.
type endpoint struct {
	BaseURL string            `yaml:"base_url"`
	KeyEnv  string            `yaml:"key_env"`
	Headers map[string]string `yaml:"headers"`

	Dialect    string         `yaml:"dialect"`
	APIVersion string         `yaml:"api_version"`
	OneCall    bool           `yaml:"one_call"`
	Body       map[string]any `yaml:"body"`
}

// A rate is a price in USD per million tokens.
type rate struct {
	In     float64 `yaml:"in"`
	Out    float64 `yaml:"out"`
	Cached float64 `yaml:"cached"`
}

// dialectEntries are the settings of an endpoint's dialect.
func (e endpoint) dialectEntries(name string) []entry {
	at := "endpoints." + name + "."
	var out []entry
	if e.Dialect != "" {
		out = append(out, entry{at + "dialect", e.Dialect, true})
	}
	if e.APIVersion != "" {
		out = append(out, entry{at + "api_version", e.APIVersion, true})
	}
	if e.OneCall {
		out = append(out, entry{at + "one_call", "true", true})
	}
	for _, field := range slices.Sorted(maps.Keys(e.Body)) {
		b, err := json.Marshal(e.Body[field])
		if err != nil {
			b = []byte("(cannot be sent)")
		}
		out = append(out, entry{at + "body." + field, string(b), true})
	}
	return out
}

// openAI is the endpoint's configuration for its adapter, without the key.
func (e endpoint) openAI(name string) openai.Config {
	return openai.Config{Name: name, BaseURL: e.BaseURL, Headers: e.Headers,
		Dialect: e.Dialect, APIVersion: e.APIVersion, OneCall: e.OneCall, Body: e.Body}
}
