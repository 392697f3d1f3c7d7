// Package ollama is a client of Ollama's native protocol, which can set the context
// window and refuses a prompt that is too long instead of silently cutting it, as its
// OpenAI-compatible one does.
//
//	m, err := New(Config{})
//	answer, err := m.Generate(ctx, &llm.Request{
//		Model: "qwen3:8b", Messages: conversation, Options: llm.Options{Window: 32768},
//	}, nil)
package ollama
