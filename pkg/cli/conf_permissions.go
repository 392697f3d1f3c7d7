package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/permit"
)

// checkMode says what is wrong with a mode, nil if it can be left as it is.
func checkMode(where string, m executor.Mode) error {
	if m != "" && !slices.Contains(executor.Modes, m) {
		return fail(fmt.Errorf("%s: mode is %q", where, m), "it is one of plan, edits, auto")
	}
	return nil
}

// checkPermissions judges the rules of the configuration, so that a mistake in
// one is said before anything runs under it.
func checkPermissions(where string, rules []permit.Rule) error {
	for i, r := range rules {
		if err := r.Check(); err != nil {
			return fail(fmt.Errorf("%s: permissions, rule %d: %w", where, i+1, err), "for example - {tool: shell, command: \"go test *\", do: allow}")
		}
	}
	return nil
}

// permissionSetting shows the rules on one line.
func permissionSetting(rules []permit.Rule) setting {
	var out []string
	for _, r := range rules {
		out = append(out, r.String())
	}
	if out == nil {
		return setting{"permissions", "none", false}
	}
	return setting{"permissions", strings.Join(out, "; "), true}
}
