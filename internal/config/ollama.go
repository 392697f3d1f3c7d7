package config

import "time"

// An ollamaSection configures requests to Ollama.
type ollamaSection struct {
	// KeepAlive is how long a model stays loaded after an answer. Negative is
	// for ever; zero leaves it to the server.
	KeepAlive time.Duration `yaml:"keep_alive"`
}

func (o ollamaSection) entries() []entry {
	switch {
	case o.KeepAlive == 0:
		return nil
	case o.KeepAlive < 0:
		return []entry{{"ollama.keep_alive", "for ever", true}}
	}
	return []entry{{"ollama.keep_alive", o.KeepAlive.String(), true}}
}
