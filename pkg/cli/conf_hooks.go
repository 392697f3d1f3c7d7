package cli

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/pkg/hooks"
)

// hooksIn are the configured hooks with ~/ written out for a home directory.
func (c *config) hooksIn(home string) []hooks.Hook {
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

// checkHooks tells what is wrong with the hooks.
func (c *config) checkHooks(where string) error {
	// Which home it is does not matter for whether a path is absolute.
	if err := hooks.Check(c.hooksIn("/")); err != nil {
		return fail(fmt.Errorf("%s: %w", where, err), "docs/config.md has an example")
	}
	return nil
}

// hookSettings are the hooks as a setting.
func (c *config) hookSettings() []setting {
	if len(c.Hooks) == 0 {
		return []setting{{"hooks", "none", false}}
	}
	var words []string
	for _, h := range c.Hooks {
		words = append(words, h.String())
	}
	return []setting{{"hooks", strings.Join(words, "; "), true}}
}
