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
	"net/http"
	"time"

	"github.com/adroit-run/adroit/internal/llm/ollama"
	"github.com/adroit-run/adroit/pkg/llm"
)

// A Config names a server. The zero value is the one on this machine.
type Config struct {
	Name        string            // for errors and hints; default "ollama"
	BaseURL     string            // default http://127.0.0.1:11434
	Key         string            // for a proxy in front of the server, "" for none
	Headers     map[string]string // sent with each request
	HTTP        *http.Client      // default: a client that heeds the environment's proxies
	IdleTimeout time.Duration     // the longest silence; 0 means five minutes, near by from the first byte on; negative no limit
	Timeout     time.Duration     // the longest answer; 0 means thirty minutes, negative no limit
	NoStream    bool              // ask for the answer in one piece
	Think       string            // "on", "off", "low", "medium", "high"; "" leaves it to the model
	KeepAlive   time.Duration     // how long the model stays loaded; 0 leaves it to the server
}

// New returns a Model for the server. It does not connect.
func New(c Config) (llm.Model, error) { return ollama.New(ollama.Config(c)) }
