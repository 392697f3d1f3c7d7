package config

import (
	"fmt"
	"slices"

	"github.com/adroit-run/adroit/internal/hooks"
)

// hooksIn are the configured hooks with ~/ expanded to a home directory.
func (c *Config) hooksIn(home string) []hooks.Hook {
	list := slices.Clone(c.Hooks)
	for i, h := range list {
		if len(h.Command) > 0 {
			list[i].Command = append([]string{expandHome(home, h.Command[0])}, h.Command[1:]...)
		}
	}
	return list
}

// checkHooks checks the hooks.
func (c *Config) checkHooks(where string) error {
	// Which home it is does not matter for whether a path is absolute.
	if err := hooks.Check(c.hooksIn("/")); err != nil {
		return fail(fmt.Errorf("%s: %w", where, err), "docs/config.md has an example")
	}
	return nil
}
