// Package ollama is a client of Ollama's native protocol, which can set the context
// window and refuses a prompt that is too long instead of silently cutting it, as its
// OpenAI-compatible one does.
//
//	m, err := ollama.New(ollama.Config{})
//	answer, err := m.Generate(ctx, &llm.Request{
//		Model: "qwen3:8b", Messages: conversation, Options: llm.Options{Window: 32768},
//	}, nil)
package ollama

import (
	"github.com/adroit-run/adroit/internal/llm/ollama"
	"github.com/adroit-run/adroit/pkg/llm"
)

// A Config names a server. The zero value is the one on this machine.
type Config = ollama.Config

// New returns a Model for the server. It does not connect.
func New(c Config) (llm.Model, error) { return ollama.New(c) }
