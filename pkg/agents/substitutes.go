package agents

import (
	"maps"
	"slices"

	"github.com/adroit-run/adroit/pkg/tools"
)

// substituteTools offers the model the tools of its form in place of those the agent
// names: an agent states that it edits files, not in which form a model writes
// edits best. A tool that the agent's criterion wants called stays, and so
// does one for which there is no other in set. What the agent denies or its
// grant does not cover is not brought in.
func substituteTools(a *DynamicAgent, own, set *tools.Set, forms map[string][]string) (*tools.Set, error) {
	for _, name := range slices.Sorted(maps.Keys(forms)) {
		if _, ok := own.Lookup(name); !ok || slices.Contains(a.Done.Tools(), name) {
			continue
		}
		var more []tools.Tool
		found := false
		for _, other := range forms[name] {
			if _, ok := own.Lookup(other); ok {
				found = true
				continue
			}
			t, ok := set.Without(a.Deny...).Lookup(other)
			if ok && (a.Grant == nil || a.Grant.Has(t.Needs)) {
				more, found = append(more, t), true
			}
		}
		if !found {
			continue
		}
		var err error
		if own, err = own.Without(name).With(more...); err != nil {
			return nil, err
		}
	}
	return own, nil
}
