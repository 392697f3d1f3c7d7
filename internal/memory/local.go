package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// New returns a store that lasts as long as the process.
func New() Store { return new(local) }

type local struct {
	mu    sync.Mutex
	facts []Fact // the oldest first
}

// AddFacts implements Store.
func (l *local) AddFacts(_ context.Context, add ...Addition) ([]Fact, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := slices.Clone(l.facts)
	var out []Fact
	for _, a := range add {
		f, err := l.add(a)
		if err != nil {
			l.facts = before
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

func (l *local) add(a Addition) (Fact, error) {
	f := a.Fact
	if err := f.Clean(); err != nil {
		return f, err
	}
	if i := l.index(f.ID); i >= 0 {
		if f.Kind == Summary {
			l.facts[i] = f
		}
		return l.facts[i], nil
	}
	if a.Replaces != "" {
		i := l.index(a.Replaces)
		if i < 0 {
			return f, fmt.Errorf("%s: %w", a.Replaces, ErrNotExist)
		}
		if err := f.MayReplace(l.facts[i]); err != nil {
			return f, err
		}
		l.facts = slices.Delete(l.facts, i, i+1)
	}
	for i, old := range l.facts {
		if f.Kind != Summary && old.Kind != Summary && old.Scope == f.Scope && old.Project == f.Project && old.Text == f.Text {
			f = f.Renew(old)
			l.facts = append(slices.Delete(l.facts, i, i+1), f)
			return f, nil
		}
	}
	l.facts = append(l.facts, f)
	return f, nil
}

func (l *local) index(id string) int {
	return slices.IndexFunc(l.facts, func(f Fact) bool { return f.ID == id })
}

// MayReplace returns why f may not stand for old.
func (f Fact) MayReplace(old Fact) error {
	switch {
	case f.Scope != old.Scope || f.Project != old.Project:
		return fmt.Errorf("%s: %w in this scope", old.ID, ErrNotExist)
	case f.Untrusted && !old.Untrusted:
		return fmt.Errorf("%s is trusted and may not be replaced by what others may have written", old.ID)
	}
	return nil
}

// Renew returns the fact old, renewed by f, which repeats it. Untrusted text takes neither the
// trust in a fact nor its evidence away.
func (f Fact) Renew(old Fact) Fact {
	if f.Untrusted && !old.Untrusted {
		f.Untrusted, f.Evidence, f.Confidence = false, old.Evidence, old.Confidence
	}
	f.ID = old.ID
	return f
}

// Facts implements Store.
func (l *local) Facts(_ context.Context, q Query) ([]Fact, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	type ranked struct {
		Fact
		score float64
	}
	var found []ranked
	words, now := Words(q.Text), time.Now()
	for _, f := range slices.Backward(l.facts) {
		if !q.selects(f) {
			continue
		}
		n := 0
		for _, w := range words {
			if slices.Contains(split(f.Text+" "+f.File), w) {
				n++
			}
		}
		if q.Text == "" || n > 0 {
			found = append(found, ranked{f, float64(n) * Decay(now.Sub(f.Created))})
		}
	}
	slices.SortStableFunc(found, func(a, b ranked) int {
		if q.Text == "" {
			return b.Created.Compare(a.Created) // an import brings older ones
		}
		return cmp.Compare(b.score, a.score)
	})
	if q.Limit > 0 && len(found) > q.Limit {
		found = found[:q.Limit]
	}
	var out []Fact
	for _, f := range found {
		out = append(out, f.Fact)
	}
	return out, nil
}

func (q Query) selects(f Fact) bool {
	return (q.ID == "" || q.ID == f.ID) && (q.Kind == "" || q.Kind == f.Kind) && (q.Job == "" || q.Job == f.Job) &&
		(q.Scope == "" || q.Scope == f.Scope) && (q.Project == "" || f.Scope == User || q.Project == f.Project)
}

// RemoveFacts implements Store.
func (l *local) RemoveFacts(ctx context.Context, q Query) (int, error) {
	found, err := l.Facts(ctx, q)
	if err != nil {
		return 0, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	before := len(l.facts)
	l.facts = slices.DeleteFunc(l.facts, func(f Fact) bool {
		return slices.ContainsFunc(found, func(g Fact) bool { return g.ID == f.ID })
	})
	return before - len(l.facts), nil
}
