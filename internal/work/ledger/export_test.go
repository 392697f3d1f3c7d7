package ledger

import (
	"context"
	"fmt"

	"github.com/adroit-run/adroit/internal/system/rootfs"
)

// Undos returns the number of undos begun.
func (l *Ledger) Undos() int { return l.undone }

// RecordOnly records what has changed since a snapshot, and dies before it takes anything back.
func (s *Snapshot) RecordOnly(ctx context.Context) error {
	r, _, err := s.compare(ctx, nil)
	if err != nil {
		return err
	}
	s.Ledger.mu.Lock()
	defer s.Ledger.mu.Unlock()
	return s.Ledger.add(r, true)
}

// CrashTemp is the temporary file of an undo that crashed.
const CrashTemp = ".adroit-crash.tmp"

// BeginUndo records the plan for an undo of everything, path by path, and does nothing: as a crash
// would leave it, with CrashTemp. It calls crashed after each.
func (l *Ledger) BeginUndo(crashed func()) error {
	for _, n := range l.nets(l.All().take) {
		if err := l.At(fmt.Sprint(undoStep, 1)).Change(CrashTemp, PathChange{Path: rootfs.RawName(n.path), Before: n.last.After, After: n.orig()}); err != nil {
			return err
		}
		crashed()
	}
	return nil
}
