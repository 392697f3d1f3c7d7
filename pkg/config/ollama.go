package config

import "time"

// An ollamaSection configures requests to Ollama.
type ollamaSection struct {
	// KeepAlive is how long a model stays loaded after an answer. Negative is
	// for ever; zero leaves it to the server.
	KeepAlive time.Duration `yaml:"keep_alive" least:"-"`
}
