// Package openai is a client of the OpenAI chat completions protocol, which most other
// servers support too.
//
//	m, err := openai.New(openai.Config{Name: "vllm", BaseURL: "http://gpu:8000/v1"})
//	answer, err := m.Generate(ctx, &llm.Request{Model: "qwen3", Messages: conversation}, nil)
//
// It is not for OpenAI's Responses API or audio.
package openai

import (
	"github.com/adroit-run/adroit/internal/llm/openai"
	"github.com/adroit-run/adroit/pkg/llm"
)

// A Config names an endpoint. Only BaseURL is often needed.
type Config = openai.Config

// New returns a Model for the endpoint. It does not connect.
func New(c Config) (llm.Model, error) { return openai.New(c) }
