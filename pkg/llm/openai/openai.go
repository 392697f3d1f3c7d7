// Package openai is a client of the OpenAI chat completions protocol, which most other
// servers support too.
//
//	m, err := openai.New(openai.Config{Name: "vllm", BaseURL: "http://gpu:8000/v1"})
//	answer, err := m.Generate(ctx, &llm.Request{Model: "qwen3", Messages: conversation}, nil)
//
// It is not for OpenAI's Responses API or audio.
package openai

import (
	"net/http"
	"time"

	"github.com/adroit-run/adroit/internal/llm/openai"
	"github.com/adroit-run/adroit/pkg/llm"
)

// A Config names an endpoint. Only BaseURL is often needed.
type Config struct {
	Name        string            // for errors and hints; default "openai"
	BaseURL     string            // including /v1; default OpenAI's
	Key         string            // "" for servers that want none
	Headers     map[string]string // sent with each request; they win over ours
	HTTP        *http.Client      // default: a client that heeds the environment's proxies
	IdleTimeout time.Duration     // the longest silence; 0 means five minutes, near by from the first byte on; negative no limit
	Timeout     time.Duration     // the longest answer; 0 means thirty minutes, negative no limit
	NoStream    bool              // ask for the answer in one piece

	Dialect    string         // openai, azure, vllm, …, see docs/models.md; "" guesses it from BaseURL
	APIVersion string         // of Azure; default 2024-10-21
	Body       map[string]any // fields to send with each request
	OneCall    bool           // ask for one call at a time, where the dialect can
}

// New returns a Model for the endpoint. It does not connect.
func New(c Config) (llm.Model, error) { return openai.New(openai.Config(c)) }
