package config

import (
	"fmt"

	"github.com/adroit-run/adroit/internal/coordinator"
	"github.com/adroit-run/adroit/pkg/adroit"
)

// coordinatorSection is how what repairs failures learns.
type coordinatorSection struct {
	Memory  string              `yaml:"memory"`
	Compare map[string][]string `yaml:"compare"`
}

func (s coordinatorSection) check(at place) error {
	check := func(s coordinatorSection) error {
		return coordinator.Policy{Memory: s.Memory, Compare: s.Compare}.Check()
	}
	if err := check(s); err != nil {
		return fail(fmt.Errorf("%s: coordinator.%w", culprit(at, s, check, "coordinator"), err), "docs/fix.md has the values")
	}
	return nil
}

func (s coordinatorSection) options() adroit.Coordination {
	return adroit.Coordination{Memory: s.Memory, Compare: s.Compare}
}
