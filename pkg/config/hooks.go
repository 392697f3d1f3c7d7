package config

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/pkg/hooks"
)

// HooksIn are the configured hooks with ~/ expanded to a home directory.
func (c *Config) HooksIn(home string) []hooks.Hook {
	list := slices.Clone(c.Hooks)
	for i, h := range list {
		if len(h.Command) == 0 {
			continue
		}
		if rest, ok := strings.CutPrefix(h.Command[0], "~/"); ok && home != "" {
			list[i].Command = append([]string{filepath.Join(home, rest)}, h.Command[1:]...)
		}
	}
	return list
}

// checkHooks checks the hooks.
func (c *Config) checkHooks(where string) error {
	// Which home it is does not matter for whether a path is absolute.
	if err := hooks.Check(c.HooksIn("/")); err != nil {
		return fail(fmt.Errorf("%s: %w", where, err), "docs/config.md has an example")
	}
	return nil
}

// hookEntries are the hooks as a setting.
func (c *Config) hookEntries() []entry {
	if len(c.Hooks) == 0 {
		return []entry{{"hooks", "none", false}}
	}
	var words []string
	for _, h := range c.Hooks {
		words = append(words, h.String())
	}
	return []entry{{"hooks", strings.Join(words, "; "), true}}
}
