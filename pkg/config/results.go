package config

import (
	"fmt"
	"maps"
	"slices"
)

// results bound how much of a tool result a model is shown at once.
type results struct {
	Bytes int `yaml:"bytes" least:"-1"` // -1: no bound
}

const leastWindow, leastResult = 1024, 600

func (c *Config) checkResults(at place) error {
	for _, p := range slices.Sorted(maps.Keys(c.Windows)) {
		if c.Windows[p] < leastWindow {
			return fail(fmt.Errorf("%s: windows: %s has %d tokens", at("windows", p), p, c.Windows[p]), fmt.Sprintf("a window has at least %d tokens", leastWindow))
		}
	}
	if n := c.Results.Bytes; n > 0 && n < leastResult {
		return fail(fmt.Errorf("%s: results.bytes is %d", at("results", "bytes"), n), fmt.Sprintf("at least %d; -1 shows all, 0 or leaving it out means the default", leastResult))
	}
	return nil
}
