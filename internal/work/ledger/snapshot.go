package ledger

import (
	"context"

	"github.com/adroit-run/adroit/internal/system/rootfs"
)

// Snapshot notes how root's files are, so that whatever a command does to them
// can be recorded and undone. What git has is not copied. Of the rest up to 256
// MiB are; of what is beyond that, changes are noted but cannot be undone. What
// has not been touched since an earlier Snapshot costs no reading.
func (l *Ledger) Snapshot(ctx context.Context, root string) (*Snapshot, error) {
	if err := l.Recover(ctx); err != nil {
		return nil, err
	}
	if step, ok := ctx.Value(stepKey{}).(string); ok {
		l = l.At(step)
	}
	t, err := rootfs.Open(root)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	l.mu.Lock()
	began, moves := len(l.entries), len(l.moves)
	l.mu.Unlock()
	s := &Snapshot{Ledger: l, began: began, Root: root, unkept: map[string]bool{}, exclude: excludeOf(t)}
	s.index, s.prefix = l.indexed(ctx, t)
	if s.before, s.dirty, err = s.scan(ctx, t, true); err != nil {
		return nil, err
	}
	if s.refs, err = l.readRefs(ctx, t, s.index, true); err != nil {
		s.unread = err
	}
	if s.refs != nil {
		s.refs.Began = moves
	}
	return s, s.save()
}

// StateBefore is what the snapshot found at a path, if it looked at it.
func (s *Snapshot) StateBefore(p string) (st rootfs.State, known bool) {
	st, known = s.before[p]
	return st, known
}
