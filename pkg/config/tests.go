package config

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/configs"
)

func (c *Config) checkTest(at place) error {
	for _, dir := range slices.Sorted(maps.Keys(c.Test)) {
		switch {
		case dir != configs.Any && !filepath.IsAbs(dir) && !strings.HasPrefix(dir, "~/"):
			return fail(fmt.Errorf("%s: test: %q is no directory", at("test", dir), dir), "for example test: {~/shop: make check}, or \"*\" for all projects")
		case strings.TrimSpace(c.Test[dir]) == "":
			return fail(fmt.Errorf("%s: test: %q has no command", at("test", dir), dir), "for example test: {~/shop: make check}")
		}
	}
	return nil
}

// testCommands are the configured commands that run tests, by directory.
func (c *Config) testCommands() map[string]string {
	out := map[string]string{}
	for dir, command := range c.Test {
		out[c.expand(dir)] = command
	}
	return out
}
