package tools

import (
	"cmp"
	"slices"
)

// ByCategory returns the tools of one category.
func (s *Set) ByCategory(category string) *Set {
	return s.where(func(t Tool) bool { return t.Category == category })
}

// Categories returns the categories that occur, sorted.
func (s *Set) Categories() []string {
	var out []string
	for t := range s.All() {
		out = append(out, t.Category)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// ByOptionality returns the tools presented as o. Required is the zero value's
// meaning too.
func (s *Set) ByOptionality(o Optionality) *Set {
	return s.where(func(t Tool) bool { return t.presented() == cmp.Or(o, Required) })
}

func (m Metadata) presented() Optionality { return cmp.Or(m.Optionality, Required) }

// Offered returns the tools that are of use with the artifacts that exist:
// those whose Consumes are all among them.
func (s *Set) Offered(artifacts []string) *Set {
	return s.where(func(t Tool) bool { return t.fed(artifacts) })
}

func (m Metadata) fed(artifacts []string) bool {
	return !slices.ContainsFunc(m.Consumes, func(name string) bool { return !among(artifacts, name) })
}

func among(artifacts []string, name string) bool {
	return slices.ContainsFunc(artifacts, func(a string) bool { return Matches(name, a) })
}

// Suggest returns the names of tools that would take the run a step further:
// what they consume exists and something they produce does not. The ones that
// build on most of what is there come first, then required ones, then by name.
func (s *Set) Suggest(artifacts []string) []string {
	var next []Tool
	for t := range s.All() {
		fresh := slices.ContainsFunc(t.Produces, func(name string) bool { return IsFamily(name) || !among(artifacts, name) })
		if fresh && t.fed(artifacts) {
			next = append(next, t)
		}
	}
	rank := func(t Tool) int {
		return slices.Index([]Optionality{Required, Optional, Conditional}, t.presented())
	}
	slices.SortStableFunc(next, func(a, b Tool) int {
		return cmp.Or(cmp.Compare(len(b.Consumes), len(a.Consumes)), cmp.Compare(rank(a), rank(b)))
	})
	names := make([]string, 0, len(next))
	for _, t := range next {
		names = append(names, t.Name)
	}
	return names
}
