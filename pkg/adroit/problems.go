package adroit

import (
	"path"

	"github.com/adroit-run/adroit/internal/coordinator"
	"github.com/adroit-run/adroit/internal/problem"
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
func (o *Options) detectors() (out []coordinator.Detector) {
	for _, d := range o.Coordination.Detectors {
		out = append(out, coordinator.Detector{Name: d.Name, Type: d.Type, Decision: coordinator.Decision(d.Decision), Reason: d.Reason, Hint: d.Hint, Match: d.Match})
	}
	return out
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
