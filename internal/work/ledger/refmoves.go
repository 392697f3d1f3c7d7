package ledger

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/adroit-run/adroit/internal/system/rootfs"
)

// lastMove is the newest move of a reference, and its number.
func (b *log) lastMove(git, name string) (int, RefMove) {
	for i := len(b.moves) - 1; i >= 0; i-- {
		if m := b.moves[i]; m.git == git && string(m.Name) == name {
			return i, m.RefMove
		}
	}
	return -1, RefMove{}
}

// compareRefs finds which references are others now. The git directory is that of
// everybody also for a command with an overlay, so who moved them is uncertain. In a job's
// own work tree nobody else moves what counts.
func (s *Snapshot) compareRefs(ctx context.Context, t *rootfs.Tree) (moves []RefMove, partial string) {
	was, err := s.refs, s.unread
	if was == nil && err == nil {
		return nil, ""
	}
	var now *refState
	if err == nil {
		now, err = s.Ledger.readRefs(ctx, t, s.index, false)
	}
	if err == nil {
		err = was.load(s.Ledger.log)
	}
	if err == nil && (now == nil || now.Dir != was.Dir) {
		err = errors.New("another repository is in the place of " + was.Dir)
	}
	if err != nil {
		return nil, "which branches and tags a command moved is not known: " + err.Error()
	}
	names, before, after := was.moved(now)
	for _, name := range names {
		m := RefMove{Name: rootfs.RawName(name), Before: before[name], After: after[name], Uncertain: was.Only == "" && !s.ownGit}
		s.Ledger.mu.Lock()
		i, last := s.Ledger.lastMove(was.Dir, name)
		s.Ledger.mu.Unlock()
		if i >= 0 && last.After == m.After {
			continue // it is noted
		}
		if i >= was.Began {
			m.Before = last.After
		}
		if name == IndexRef {
			s.keepIndexes(was, now, &m)
		}
		moves = append(moves, m)
	}
	return moves, ""
}

// keepIndexes keeps the content of the index before and after a command. What is not
// kept is not put back.
func (s *Snapshot) keepIndexes(was, now *refState, m *RefMove) {
	keep := func(file, staged string) string {
		data, err := os.ReadFile(file)
		if err != nil || len(data) > MaxKeep || stagedIn(data) != staged || s.looking {
			return ""
		}
		if s.Ledger.Store(data) != nil {
			return ""
		}
		return rootfs.Digest(data)
	}
	if s.saved != "" && was.Index == m.Before {
		m.Kept = keep(filepath.Join(s.Ledger.Dir, s.saved), m.Before)
	}
	m.Left = keep(filepath.Join(filepath.FromSlash(now.Dir), "index"), m.After)
}

// OwnGit has the snapshot take the references that are others afterwards for moved by the
// command, which is a git of this program's own that moves some and runs for a moment.
func (s *Snapshot) OwnGit() { s.ownGit = true }

// Joined notes which references a command moved whose changes have been brought into
// the workspace.
func (s *Snapshot) Joined(ctx context.Context, t *rootfs.Tree) error {
	if err := s.nameExclude(t); err != nil {
		return err
	}
	moves, partial := s.compareRefs(ctx, t)
	if len(moves) == 0 && partial == "" {
		return nil
	}
	l := s.Ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.add(record{Step: l.StepPath, Git: s.git(moves), Refs: moves, Partial: partial}, true)
}

// git is the git directory of moves.
func (s *Snapshot) git(moves []RefMove) rootfs.RawName {
	if len(moves) == 0 {
		return ""
	}
	return rootfs.RawName(s.refs.Dir)
}
