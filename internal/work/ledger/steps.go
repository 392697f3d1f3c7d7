package ledger

import (
	"cmp"
	"context"
	"maps"
	"slices"
)

// StepChanges is what one step changed.
type StepChanges struct {
	Step    string   `json:"step"` // empty: before steps were noted
	Changes []Change `json:"changes"`
	Refs    []Change `json:"refs,omitempty"` // of the repository
}

// Steps lists the steps that changed files or references, in the order they began to. An
// Undo is a step too, by the name undo.1, undo.2, …
func (l *Ledger) Steps(ctx context.Context) ([]StepChanges, error) {
	if err := l.peek(ctx); err != nil {
		return nil, err
	}
	l.mu.Lock()
	first := map[string]int{} // record of a step
	for _, e := range l.entries {
		first[e.step] = cmp.Or(first[e.step], e.record)
	}
	for _, m := range l.moves {
		if n, ok := first[m.step]; !ok || m.record < n {
			first[m.step] = m.record
		}
	}
	l.mu.Unlock()
	order := slices.SortedFunc(maps.Keys(first), func(a, b string) int { return cmp.Compare(first[a], first[b]) })
	var steps []StepChanges
	for _, s := range order {
		part := Selection{l: l, take: func(_ int, e entry) bool { return e.step == s }, takeMove: func(_ int, m moveEntry) bool { return m.step == s }}
		cs, err := part.Changes(ctx)
		if err != nil {
			return nil, err
		}
		refs, err := part.Refs(ctx)
		if err != nil {
			return nil, err
		}
		if len(cs)+len(refs) > 0 {
			steps = append(steps, StepChanges{Step: s, Changes: cs, Refs: refs})
		}
	}
	return steps, nil
}
