package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/coordinator"
	"github.com/adroit-run/adroit/pkg/adroit"
)

// coordinatorSection is how what repairs failures learns.
type coordinatorSection struct {
	Memory  string              `yaml:"memory"`
	Compare map[string][]string `yaml:"compare"`
}

func (s coordinatorSection) check(where string) error {
	if err := (coordinator.Policy{Memory: s.Memory, Compare: s.Compare}).Check(); err != nil {
		return fail(fmt.Errorf("%s: coordinator.%w", where, err), "docs/fix.md has the values")
	}
	return nil
}

func (s coordinatorSection) entries() []entry {
	out := []entry{{"coordinator.memory", cmp.Or(s.Memory, coordinator.OfProject), s.Memory != ""}}
	for _, what := range slices.Sorted(maps.Keys(s.Compare)) {
		out = append(out, entry{"coordinator.compare." + what, strings.Join(s.Compare[what], ", "), true})
	}
	return out
}

func (s coordinatorSection) options() adroit.Coordination {
	return adroit.Coordination{Memory: s.Memory, Compare: s.Compare}
}
