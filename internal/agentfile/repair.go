package agentfile

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/spelling"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
)

// problemTypes reads types of problems, and refuses names that mean none: an
// agent that nobody ever picks is a fault that nobody would notice.
func (d *decoder) problemTypes(n *node, what string) []string {
	names := d.Names(n, what)
	for _, name := range names {
		if name == "*" && what == "spawn.problems" {
			continue
		}
		if _, ok := problem.Canonical(name, problem.Known()...); !ok {
			d.bad(n, "the types are "+strings.Join(problem.Known(), ", "), "%s: %q is no type of problem%s", what, name, spelling.DidYouMean(strings.ToLower(name), problem.Known()))
		}
	}
	return names
}

// problems reports what keeps an agent built in Go from being picked.
func (l *linter) problems() {
	for _, name := range l.a.ProblemTypes {
		if _, ok := problem.Canonical(name, problem.Known()...); !ok && l.src.File == "" {
			l.key("problem_types", agents.Error, "the types are "+strings.Join(problem.Known(), ", "), "%q is no type of problem", name)
		}
	}
	if l.a.Priority < 0 || l.a.Priority > 1000 {
		l.key("priority", agents.Error, "", "the priority %d is not between 0 and 1000", l.a.Priority)
	}
}

// repairers are the agents of a catalog that name one of the types of s.
func repairers(s *agents.Spawn, cat *Catalog) (out []string) {
	if s == nil || len(s.Problems) == 0 {
		return nil
	}
	for _, name := range cat.Names() {
		if a, err := cat.Lookup(name); err == nil && repairs(s, a.ProblemTypes) {
			out = append(out, name)
		}
	}
	return out
}

// pinnedRepairers are those among agents that a job has pinned.
func pinnedRepairers(s *agents.Spawn, pinned map[string]executor.Spawnable) (out []string) {
	if s == nil || len(s.Problems) == 0 {
		return nil
	}
	for _, name := range sortedKeys(pinned) {
		var a struct {
			ProblemTypes []string `json:"problem_types"`
		}
		if json.Unmarshal(pinned[name].Spec, &a) == nil && repairs(s, a.ProblemTypes) {
			out = append(out, name)
		}
	}
	return out
}

func repairs(s *agents.Spawn, types []string) bool {
	all := problem.Known()
	want := problem.All(s.Problems, all...)
	if slices.Contains(s.Problems, "*") {
		want = all
	}
	return slices.ContainsFunc(problem.All(types, all...), func(t string) bool { return slices.Contains(want, t) })
}

// heading is the first heading of a prompt, for an agent that states nothing else
// about itself.
func heading(prompt string) string {
	for line := range strings.Lines(prompt) {
		if text, ok := strings.CutPrefix(strings.TrimSpace(line), "# "); ok {
			return strings.TrimSpace(text)
		}
	}
	return ""
}
