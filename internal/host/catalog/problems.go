package catalog

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/adroit-run/adroit/configs"
	"github.com/adroit-run/adroit/internal/coordinator"
	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/pkg/agents"
)

// Detectors are those of the options.
func (c *Catalog) Detectors() (out []coordinator.Detector) {
	for _, d := range c.o.Detectors {
		one, err := coordinator.NewDetector(d)
		if err != nil {
			c.o.Warn("the detector %q is not used: %v", d.Name, err)
			continue
		}
		out = append(out, one)
	}
	return out
}

// registerTypes makes the types of problems known that agents may name.
func (c *Catalog) registerTypes() {
	b, _ := coordinator.Load(c.o.Problems...)
	problem.Register(b.Types...)
	for _, d := range c.o.Detectors {
		if t, ok := problem.Canonical(d.Type); !ok {
			problem.Register(t)
		}
	}
}

// Book is what users and the project that d trusts add to coordinators.
func (c *Catalog) Book(d Decision) (*coordinator.Book, agents.Problems) {
	layers := slices.Clip(c.o.Problems)
	if fsys, dir, ok := d.Layer(configs.Problems); ok {
		layers = append(layers, agents.Layer{Name: "project", FS: fsys, Dir: dir})
	}
	b, problems := coordinator.Load(layers...)
	for _, one := range c.Detectors() {
		if t, ok := problem.Canonical(one.Type, b.Types...); !ok {
			b.Types = append(b.Types, t)
		}
		b.Coded = append(b.Coded, one)
	}
	problem.Register(b.Types...)
	return b, problems
}

// PinnedBook is what a job that a workflow leads has of it, by value.
func (c *Catalog) PinnedBook(in agents.Input, cat *agents.Catalog, d Decision) (json.RawMessage, error) {
	spec := in.Spec
	if spec == nil {
		var err error
		if spec, err = cat.Lookup(in.Agent); err != nil {
			return nil, nil // a failure that Resolve has reported
		}
	}
	if spec.Workflow == "" {
		return nil, nil
	}
	b, problems := c.Book(d)
	for _, p := range problems {
		c.o.Warn("%s", p)
	}
	if b.Empty() {
		return nil, nil
	}
	raw, err := json.Marshal(b)
	if err != nil {
		return nil, fmt.Errorf("what was added to coordinators: %w", err)
	}
	return raw, nil
}
