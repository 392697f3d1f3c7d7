package agents

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/pkg/executor"
)

// repairers are the agents of a catalog that name one of the types of s.
func repairers(s *Spawn, cat *Catalog) (out []string) {
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
func pinnedRepairers(s *Spawn, pinned map[string]executor.Spawnable) (out []string) {
	if s == nil || len(s.Problems) == 0 {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(pinned)) {
		var a struct {
			ProblemTypes []string `json:"problem_types"`
		}
		if json.Unmarshal(pinned[name].Spec, &a) == nil && repairs(s, a.ProblemTypes) {
			out = append(out, name)
		}
	}
	return out
}

func repairs(s *Spawn, types []string) bool {
	all := problem.Known()
	want := problem.All(s.Problems, all...)
	if slices.Contains(s.Problems, "*") {
		want = all
	}
	return slices.ContainsFunc(problem.All(types, all...), func(t string) bool { return slices.Contains(want, t) })
}
