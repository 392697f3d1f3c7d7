package problem

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/adroit-run/adroit/internal/text/match"
)

// Memory is a Store that lasts as long as the process. The zero value is ready.
type Memory struct {
	mu  sync.Mutex
	all []Failure // the oldest first
}

var _ Store = (*Memory)(nil)

// Add implements Store.
func (m *Memory) Add(ctx context.Context, f Failure) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if !slices.ContainsFunc(m.all, func(g Failure) bool { return g.Key == f.Key }) {
		m.all = append(m.all, f)
	}
	return nil
}

// matches reports whether a query selects f, whatever its words.
func (q Query) matches(f Failure) bool {
	return (q.Project == "" || f.Project == q.Project) && (q.Signature == "" || f.Signature == q.Signature) &&
		(q.Before.IsZero() || f.At.Before(q.Before)) &&
		(q.Key == "" || f.Key == q.Key || strings.HasSuffix(q.Key, "/") && strings.HasPrefix(f.Key, q.Key))
}

// Find implements Store.
func (m *Memory) Find(ctx context.Context, q Query) ([]Failure, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	var out []Failure
	for _, f := range slices.Backward(m.all) {
		if q.matches(f) {
			out = append(out, f)
		}
	}
	slices.SortStableFunc(out, func(a, b Failure) int { return b.At.Compare(a.At) })
	if len(q.Words) > 0 {
		out = likest(out, q.Words)
	}
	out = out[min(q.Skip, len(out)):]
	if q.Limit > 0 && len(out) > q.Limit {
		out = out[:q.Limit]
	}
	return slices.Clone(out), nil
}

// likest are those that have one of the words, the likest first.
func likest(all []Failure, words []string) (out []Failure) {
	texts := make([]string, len(all))
	for i, f := range all {
		texts[i] = f.Text
	}
	scores, at := match.BM25(words, texts), make([]int, len(all))
	for i := range at {
		at[i] = i
	}
	slices.SortStableFunc(at, func(i, j int) int { return cmp.Compare(scores[j], scores[i]) })
	for _, i := range at {
		if scores[i] > 0 {
			out = append(out, all[i])
		}
	}
	return out
}

// Forget implements Store.
func (m *Memory) Forget(ctx context.Context, q Query) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	before := len(m.all)
	m.all = slices.DeleteFunc(m.all, q.matches)
	return before - len(m.all), nil
}
