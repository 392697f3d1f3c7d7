package cli

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/pkg/adroit"
)

func (c *config) checkTest(where string) error {
	for _, dir := range slices.Sorted(maps.Keys(c.Test)) {
		switch {
		case dir != adroit.AnyProject && !filepath.IsAbs(dir) && !strings.HasPrefix(dir, "~/"):
			return fail(fmt.Errorf("%s: test: %q is no directory", where, dir), "for example test: {~/shop: make check}, or \"*\" for all projects")
		case strings.TrimSpace(c.Test[dir]) == "":
			return fail(fmt.Errorf("%s: test: %q has no command", where, dir), "for example test: {~/shop: make check}")
		}
	}
	return nil
}

func (c *config) testSettings() (out []setting) {
	for _, dir := range slices.Sorted(maps.Keys(c.Test)) {
		out = append(out, setting{"test." + dir, c.Test[dir], true})
	}
	return out
}

// testCommands are the configured commands that run tests, by directory.
func (c *config) testCommands(home string) map[string]string {
	out := map[string]string{}
	for dir, command := range c.Test {
		out[expandHome(home, dir)] = command
	}
	return out
}
