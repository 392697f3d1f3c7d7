package executor

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/llm"
)

// Parallel runs f over xs in branches, each with a scope of its own that has
// the artifacts so far and an equal share of what the task may still spend.
// Siblings of a failed branch finish, and what they return is kept; the errors
// are joined. What the branches made and spent is taken over in their order.
func Parallel[In, Out any](sc *Scope, xs []In, f func(*Scope, In) (Out, error)) ([]Out, error) {
	branches, at := sc.branches(len(xs))
	outs := make([]Out, len(xs))
	_, err := flow.Map(sc.Run, at, func(r *flow.Run, i int) (struct{}, error) {
		var err error
		branches[i].Run = r
		outs[i], err = f(branches[i], xs[i])
		return struct{}{}, err
	})
	sc.mergeBranches(branches)
	return outs, err
}

// Race is Parallel until a branch has won, which stops the others: see [flow.Race].
func Race[In, Out any](sc *Scope, xs []In, f func(*Scope, In) (out Out, won bool, err error)) (outs []Out, winner int, err error) {
	branches, at := sc.branches(len(xs))
	outs = make([]Out, len(xs))
	_, winner, err = flow.Race(sc.Run, at, func(r *flow.Run, i int) (struct{}, bool, error) {
		var won bool
		var err error
		branches[i].Run = r
		outs[i], won, err = f(branches[i], xs[i])
		return struct{}{}, won, err
	})
	sc.mergeBranches(branches)
	return outs, winner, err
}

// branches are the scopes of n branches, and their numbers.
func (sc *Scope) branches(n int) (scopes []*Scope, at []int) {
	for i := range n {
		scopes, at = append(scopes, sc.branch(n)), append(at, i)
	}
	return scopes, at
}

// mergeBranches takes over what branches have done.
func (sc *Scope) mergeBranches(branches []*Scope) {
	var longest time.Duration // branches begin at nothing
	for _, b := range branches {
		sc.State.merge(b.State)
		longest = max(longest, b.State.Elapsed)
	}
	for _, b := range branches {
		sc.State.inherit(b.State.left())
	}
	sc.State.Elapsed += longest
}

// branch is a scope for one of n branches.
func (sc *Scope) branch(n int) *Scope {
	t := *sc.Task
	t.Limits, t.part = t.remainingLimits(sc.State).share(n), ""
	s := &State{securityState: securityState{Taint: sc.State.Taint, Rules: sc.State.Rules, Unknown: maps.Clone(sc.State.Unknown)}, Produced: Produced{Artifacts: map[string]Artifact{}}}
	for name, a := range sc.State.Artifacts {
		s.Artifacts[name] = a
	}
	return &Scope{Task: &t, State: s}
}

// merge takes over what a branch has done, but its time: branches work at once.
func (s *State) merge(b *State) {
	for _, name := range b.Names() {
		if a := b.Artifacts[name]; a.Version > s.Artifacts[name].Version {
			s.bind(a.Tool, map[string]json.RawMessage{name: a.Value})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(b.Called)) {
		if s.Called == nil {
			s.Called = map[string]int{}
		}
		s.Called[name] += b.Called[name]
	}
	s.Turns += b.Turns
	s.Calls += b.Calls
	s.Usage = s.Usage.Add(b.Usage)
	s.Cost += b.Cost
	s.Taint |= b.Taint
	if len(b.Unknown) > 0 {
		if s.Unknown == nil {
			s.Unknown = map[string]string{}
		}
		maps.Copy(s.Unknown, b.Unknown)
	}
	s.SubAgents = s.SubAgents.add(b.SubAgents)
	if b.Last != "" {
		s.Last = b.Last
	}
	for _, m := range slices.Sorted(maps.Keys(b.ByModel)) {
		if s.ByModel == nil {
			s.ByModel = map[string]llm.Usage{}
		}
		s.ByModel[m] = s.ByModel[m].Add(b.ByModel[m])
	}
}
