package openai_test

import (
	"testing"

	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/llm/llmtest"
	"github.com/adroit-run/adroit/pkg/llm/openai"
)

func newModel(noStream bool) func(string) llm.Model {
	return func(base string) llm.Model {
		m, err := openai.New(openai.Config{Name: "test", BaseURL: base + "/v1", Key: llmtest.Key,
			IdleTimeout: llmtest.Idle, Timeout: llmtest.Total, NoStream: noStream})
		if err != nil {
			panic(err)
		}
		return m
	}
}

func TestStream(t *testing.T)   { llmtest.Suite(t, newModel(false)) }
func TestNoStream(t *testing.T) { llmtest.Suite(t, newModel(true)) }
