package ledger

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Verify reads everything that undoing the job needs and returns what is
// missing or damaged, nil if nothing is.
func (l *Ledger) Verify(ctx context.Context) error {
	l.mu.Lock()
	first, unkept := maps.Clone(l.first), maps.Clone(l.unkept)
	l.mu.Unlock()
	var errs []error
	for _, p := range slices.Sorted(maps.Keys(first)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if s := first[p]; s.Digest != "" && !unkept[p] {
			if _, err := l.Load(s.Digest); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", p, err))
			}
		}
	}
	return errors.Join(errs...)
}
