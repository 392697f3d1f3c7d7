package cli

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/adroit-run/adroit/pkg/llm/openai"
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

// dialectSettings are what an endpoint says of its server.
func (e endpoint) dialectSettings(name string) []setting {
	at := "endpoints." + name + "."
	var out []setting
	if e.Dialect != "" {
		out = append(out, setting{at + "dialect", e.Dialect, true})
	}
	if e.APIVersion != "" {
		out = append(out, setting{at + "api_version", e.APIVersion, true})
	}
	if e.OneCall {
		out = append(out, setting{at + "one_call", "true", true})
	}
	for _, field := range slices.Sorted(maps.Keys(e.Body)) {
		b, err := json.Marshal(e.Body[field])
		if err != nil {
			b = []byte("(cannot be sent)")
		}
		out = append(out, setting{at + "body." + field, string(b), true})
	}
	return out
}

// config is the endpoint as the adapter wants it, without its key.
func (e endpoint) config(name string) openai.Config {
	return openai.Config{Name: name, BaseURL: e.BaseURL, Headers: e.Headers,
		Dialect: e.Dialect, APIVersion: e.APIVersion, OneCall: e.OneCall, Body: e.Body}
}

// reserved reports whether name is that of a provider that is built in.
func reserved(name string) bool {
	return slices.Contains([]string{"ollama", "openai", "script", "cli"}, name)
}
