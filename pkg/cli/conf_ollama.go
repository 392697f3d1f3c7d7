package cli

import "time"

// An ollamaConfig is what Ollama's servers are asked for beside models.
type ollamaConfig struct {
	// KeepAlive is how long a model stays loaded after an answer. Negative is
	// for ever; zero leaves it to the server.
	KeepAlive time.Duration `yaml:"keep_alive"`
}

func (o ollamaConfig) settings() []setting {
	switch {
	case o.KeepAlive == 0:
		return nil
	case o.KeepAlive < 0:
		return []setting{{"ollama.keep_alive", "for ever", true}}
	}
	return []setting{{"ollama.keep_alive", o.KeepAlive.String(), true}}
}
