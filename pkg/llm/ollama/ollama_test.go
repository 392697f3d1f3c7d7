package ollama_test

import (
	"testing"

	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/llm/llmtest"
	"github.com/adroit-run/adroit/pkg/llm/ollama"
)

func newModel(noStream bool) func(string) llm.Model {
	return func(base string) llm.Model {
		m, err := ollama.New(ollama.Config{Name: "test", BaseURL: base, Key: llmtest.Key,
			IdleTimeout: llmtest.Idle, Timeout: llmtest.Total, NoStream: noStream})
		if err != nil {
			panic(err)
		}
		return m
	}
}

func TestStream(t *testing.T)   { llmtest.Suite(t, newModel(false)) }
func TestNoStream(t *testing.T) { llmtest.Suite(t, newModel(true)) }
