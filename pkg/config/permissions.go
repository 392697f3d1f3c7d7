package config

import (
	"fmt"
	"strconv"

	"github.com/adroit-run/adroit/pkg/guard/permit"
)

// checkPermissions checks the permission rules, before anything runs under them.
func checkPermissions(at place, rules []permit.Rule) error {
	var faults []error
	for i, r := range rules {
		if err := r.Check(); err != nil {
			faults = append(faults, fail(fmt.Errorf("%s: permissions, rule %d: %w", culprit(at, r, permit.Rule.Check, "permissions", strconv.Itoa(i)), i+1, err), "for example - {tool: shell, command: \"go test *\", do: allow}"))
		}
	}
	return all(faults...)
}
