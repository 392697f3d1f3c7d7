// Package openai is a client of the OpenAI chat completions protocol, which most other
// servers support too.
//
//	m, err := New(Config{Name: "vllm", BaseURL: "http://gpu:8000/v1"})
//	answer, err := m.Generate(ctx, &llm.Request{Model: "qwen3", Messages: conversation}, nil)
//
// It is not for OpenAI's Responses API or audio.
package openai
