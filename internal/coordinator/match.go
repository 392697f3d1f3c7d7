package coordinator

import (
	"cmp"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/pkg/agents"
)

// candidates orders agents for a problem and leaves out those that are not for it.
// An agent that names the type comes before one that only has one of the
// capabilities; then the higher priority, then the name decides.
func candidates(all []agents.DynamicAgent, typ string, capabilities, more []string) []agents.DynamicAgent {
	type candidate struct {
		agents.DynamicAgent
		byType bool
	}
	var found []candidate
	for _, a := range all {
		byType := slices.Contains(problem.All(a.ProblemTypes, more...), typ)
		able := slices.ContainsFunc(a.Capabilities, func(c string) bool { return slices.Contains(capabilities, strings.ToLower(c)) })
		if byType || able && len(a.ProblemTypes) > 0 {
			found = append(found, candidate{a, byType})
		}
	}
	able := func(c candidate) int {
		if slices.ContainsFunc(c.Capabilities, func(c string) bool { return slices.Contains(capabilities, strings.ToLower(c)) }) {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(found, func(a, b candidate) int {
		switch {
		case a.byType != b.byType && a.byType:
			return -1
		case a.byType != b.byType:
			return 1
		}
		return cmp.Or(cmp.Compare(able(b), able(a)), cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.Name, b.Name))
	})
	out := make([]agents.DynamicAgent, len(found))
	for i, c := range found {
		out[i] = c.DynamicAgent
	}
	return out
}
