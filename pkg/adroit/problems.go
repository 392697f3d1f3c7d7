package adroit

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"

	"github.com/adroit-run/adroit/internal/coordinator"
	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/projectdir"
	"github.com/adroit-run/adroit/pkg/agents"
)

// A Detector recognises a failure in Go, where a pattern in a file cannot: see
// docs/fix.md. Match is called in a step of the job, with the head and the tail of
// what the command has printed.
type Detector struct {
	Name  string // lower case letters, digits and -
	Type  string // one of the types of problems, built in or its own
	Match func(command, output string, exitCode int) bool
	// Decision is retry, escalate or fail; empty leaves it to the strategy for the type,
	// else to the agents that name it. Reason and Hint are for people.
	Decision, Reason, Hint string
}

// detectors are those of the options as coordinators have them.
func (rt *Runtime) detectors() (out []coordinator.Detector) {
	for _, d := range rt.o.Coordination.Detectors {
		one, err := coordinator.NewDetector(coordinator.Detector{Name: d.Name, Type: d.Type, Decision: coordinator.Decision(d.Decision), Reason: d.Reason, Hint: d.Hint, Match: d.Match})
		if err != nil {
			rt.warn("the detector %q is not used: %v", d.Name, err)
			continue
		}
		out = append(out, one)
	}
	return out
}

// registerTypes makes the types of problems known that agents may name.
func (o *Options) registerTypes() {
	b, _ := coordinator.Load(o.Coordination.Problems...)
	problem.Register(b.Types...)
	for _, d := range o.Coordination.Detectors {
		if t, ok := problem.Canonical(d.Type); !ok {
			problem.Register(t)
		}
	}
}

// book is what users and the project that d trusts add to coordinators.
func (rt *Runtime) book(d trustDecision) (*coordinator.Book, agents.Problems) {
	layers := slices.Clip(rt.o.Coordination.Problems)
	if fsys, dir, ok := d.layer(projectdir.Problems); ok {
		layers = append(layers, agents.Layer{Name: "project", FS: fsys, Dir: dir})
	}
	b, problems := coordinator.Load(layers...)
	for _, one := range rt.detectors() {
		if t, ok := problem.Canonical(one.Type, b.Types...); !ok {
			b.Types = append(b.Types, t)
		}
		b.Coded = append(b.Coded, one)
	}
	problem.Register(b.Types...)
	return b, problems
}

// pinnedBook is what a job that a workflow leads has of it, by value.
func (rt *Runtime) pinnedBook(in agents.Input, cat *agents.Catalog, d trustDecision) (json.RawMessage, error) {
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
	b, problems := rt.book(d)
	for _, p := range problems {
		rt.warn("%s", p)
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

// lintBooks checks the files among some that are about problems, and returns the others.
func (rt *Runtime) lintBooks(files []LintFile, cat *agents.Catalog) (problems agents.Problems, others []LintFile) {
	for _, f := range files {
		if ext := path.Ext(f.Name); ext != ".yaml" && ext != ".yml" {
			others = append(others, f)
			continue
		}
		b, found := coordinator.Read(f.Name, f.Text)
		problem.Register(b.Types...)
		problems = append(append(problems, found...), b.Lint(cat)...)
	}
	return problems, others
}
