package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/permit"
)

// checkMode checks a permission mode.
func checkMode(where string, m executor.Mode) error {
	if m != "" && !slices.Contains(executor.Modes, m) {
		return fail(fmt.Errorf("%s: mode is %q", where, m), "it is one of plan, edits, auto")
	}
	return nil
}

// checkPermissions checks the permission rules, before anything runs under them.
func checkPermissions(where string, rules []permit.Rule) error {
	for i, r := range rules {
		if err := r.Check(); err != nil {
			return fail(fmt.Errorf("%s: permissions, rule %d: %w", where, i+1, err), "for example - {tool: shell, command: \"go test *\", do: allow}")
		}
	}
	return nil
}

// permissionEntry shows the rules on one line.
func permissionEntry(rules []permit.Rule) entry {
	var out []string
	for _, r := range rules {
		out = append(out, r.String())
	}
	if out == nil {
		return entry{"permissions", "none", false}
	}
	return entry{"permissions", strings.Join(out, "; "), true}
}
