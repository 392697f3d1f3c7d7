package ledger

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/adroit-run/adroit/internal/system/lock"
	"github.com/adroit-run/adroit/internal/system/rootfs"
)

// Recorded reports whether the ledger in dir has any changes, without opening it.
func Recorded(dir string) bool {
	if cut, _ := filepath.Glob(filepath.Join(dir, "pending-*")); len(cut) > 0 {
		return true // perhaps: a command was cut short, or runs
	}
	name := filepath.Join(dir, "journal")
	if info, err := os.Stat(name); err != nil && synced(dir) > 0 || err == nil && (!info.Mode().IsRegular() || info.Size() < synced(dir)) {
		return true // perhaps: its record is damaged
	}
	f, err := os.Open(name)
	if err != nil {
		return keptWithoutNote(dir)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Size() == 0 {
		return keptWithoutNote(dir)
	}
	for r := bufio.NewReader(f); ; {
		line, err := r.ReadBytes('\n')
		if len(line) > 0 && !bytes.HasPrefix(line, []byte(`{"seen":`)) && !bytes.HasPrefix(line, []byte(`{"begun":`)) { // which change nothing
			return true
		}
		if err != nil {
			return false
		}
	}
}

// Open opens the ledger in dir, which is made if it does not exist.
// Overlays joins the changes of interrupted commands that had an overlay; nil if
// no command has one.
func Open(dir string, overlays func(context.Context, *Ledger) error) (*Ledger, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("opening the ledger: %w", err)
	}
	if err := os.MkdirAll(filepath.Join(abs, "blobs"), 0o700); err != nil {
		return nil, fmt.Errorf("opening the ledger: %w", err)
	}
	b := &log{Dir: abs, overlays: overlays, size: -1, cache: map[string]stamp{}, active: map[string]bool{}}
	b.reset()
	if err := b.read(); err != nil {
		return nil, err
	}
	b.emptied()
	return &Ledger{log: b}, nil
}

// At returns a view of the ledger that notes changes under a step's path.
func (l *Ledger) At(step string) *Ledger { return &Ledger{log: l.log, StepPath: step} }

type stepKey struct{}

// AtStep returns a context for the commands of a step: the changes of commands with Cmd.Snapshot
// are recorded under the step's path.
func AtStep(ctx context.Context, step string) context.Context {
	return context.WithValue(ctx, stepKey{}, step)
}

// Close lets another process add to the ledger.
func (l *Ledger) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.journal == nil {
		return nil
	}
	err := lock.Close(l.journal)
	l.journal = nil
	return err
}

// Change notes deltas that are about to be made. What they replace must have
// been kept before.
func (l *Ledger) Change(temp string, ds ...PathChange) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.add(record{Step: l.StepPath, Temp: rootfs.RawName(temp), Changes: ds}, true)
}

// Note notes deltas that are about to be made, and the paths of them whose
// former content was too much to keep.
func (l *Ledger) Note(ds []PathChange, unkept []rootfs.RawName) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.add(record{Step: l.StepPath, Changes: ds, Unkept: unkept}, true)
}

// NotePartial notes why not all that a command changed is in the ledger, once.
func (l *Ledger) NotePartial(why string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if slices.Contains(l.partial, why) {
		return nil
	}
	return l.add(record{Step: l.StepPath, Partial: why}, true)
}

// TakeBack notes that the newest change was not made after all.
func (l *Ledger) TakeBack(ds ...PathChange) {
	back := make([]PathChange, 0, len(ds))
	for _, d := range ds {
		back = append(back, PathChange{Path: d.Path, Before: d.After, After: d.Before, Uncertain: d.Uncertain, Ignored: d.Ignored})
	}
	// If even this cannot be written, Undo finds the content as it was before
	// the change and takes that for the job's.
	_ = l.Change("", back...)
}

// TakeNotes returns, once, notes about interrupted commands whose changes were joined since.
func (b *log) TakeNotes() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	notes := b.later
	b.later = nil
	return notes
}

// Seen notes the digest of a file as the job last saw it, for the stale check;
// an empty digest means that there was no such file. It is not synced: a lost
// note costs a refusal at worst, never an update.
func (l *Ledger) Seen(path, digest string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if old, ok := l.seen[path]; ok && old == digest {
		return nil
	}
	return l.add(record{Seen: rootfs.RawName(path), Digest: digest}, false)
}

// Begin notes that a step begins which is not repeatable, so that a database that has lost it is
// found to have gone back. It is not synced: the database is, and a killed process loses neither.
func (l *Ledger) Begin(step string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.started[step] {
		return nil
	}
	return l.add(record{Begun: step}, false)
}

// Begun returns the steps of Begin that take takes.
func (l *Ledger) Begun(take func(step string) bool) map[string]bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	begun := map[string]bool{}
	for step := range l.started {
		if take(step) {
			begun[step] = true
		}
	}
	return begun
}

// LastSeen returns the digest that Seen recorded.
func (l *Ledger) LastSeen(path string) (string, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	d, ok := l.seen[path]
	return d, ok
}

// RemoveTemp removes the temporary file of a write that a crash cut short.
func (l *Ledger) RemoveTemp(t *rootfs.Tree) {
	l.mu.Lock()
	temp := l.temp
	l.mu.Unlock()
	if ok, _ := path.Match(".adroit-*.tmp", path.Base(temp)); ok {
		_ = t.Root.Remove(temp)
	}
}

// SetDenyList makes diffs of l leave out the files that the names hide. It is called before l is
// used.
func (l *Ledger) SetDenyList(n *rootfs.DenyList) { l.DenyList = n }

// Snapshot records the state of root's files, so that a command's changes to them can be recorded
// and undone. Content that git has is not copied. Of the rest, up to 256 MiB are copied; changes
// of files beyond that are recorded but cannot be undone. Files that have not changed since an
// earlier Snapshot are not read again.
func (l *Ledger) Snapshot(ctx context.Context, root string) (*Snapshot, error) {
	return l.snapshot(ctx, root, false)
}

func (l *Ledger) snapshot(ctx context.Context, root string, follows bool) (*Snapshot, error) {
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
	s := &Snapshot{Ledger: l, began: began, Root: root, unkept: map[string]bool{}, exclude: excludeOf(t), follows: follows}
	s.barred, _ = ctx.Value(barredKey{}).([]Denied)
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
	s.inner = s.innerRefs(ctx, t)
	return s, s.save()
}

// StateBefore returns the state of a path in the snapshot, if the snapshot recorded it.
func (s *Snapshot) StateBefore(p string) (st rootfs.State, known bool) {
	st, known = s.before[p]
	return st, known
}
