package ledger

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/adroit-run/adroit/internal/system/lock"
	"github.com/adroit-run/adroit/internal/system/rootfs"
)

// Recover records changes of commands that were running when their process was killed. It is
// unknown who made these changes, and whether before or after that: all of them are uncertain,
// except those of commands with an overlay, whose content is brought into the workspace. It does
// nothing while another process has the ledger. A run calls it before its first step.
func (l *Ledger) Recover(ctx context.Context) error {
	if err := l.joinOverlays(ctx); err != nil {
		return err
	}
	l.mu.Lock()
	files, err := l.interrupted()
	busy := len(files) == 0 || l.begin() != nil
	l.mu.Unlock()
	if err != nil || busy {
		return err
	}
	for _, file := range files {
		s, err := l.readSnapshot(file)
		switch {
		case errors.Is(err, errDamaged):
			err = l.abandon(file, err)
		case err == nil && s != nil:
			l.mu.Lock()
			l.active[file] = true // an undo of what it created recovers, too
			l.mu.Unlock()
			if _, err = s.Record(ctx); s.Barred() != "" {
				l.AddNotes("a call was cut short: " + s.Barred())
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// abandon records that a command's changes are unknown, because its snapshot cannot be read, and
// puts the file aside. Nothing else of the job depends on it: an undo leaves alone any file that
// differs from its last recorded state.
func (l *Ledger) abandon(file string, why error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.add(record{Partial: unknownChanges + why.Error()}, true); err != nil {
		return err
	}
	aside := filepath.Join(l.Dir, "damaged-"+filepath.Base(file))
	if err := rootfs.Move(file, aside); err != nil {
		return fmt.Errorf("putting aside what an interrupted command began with: %w", err)
	}
	return nil
}

const unknownChanges = "a command was cut short, and what it changed is not known: "

// joinOverlays joins the changes of interrupted commands in overlays.
func (l *Ledger) joinOverlays(ctx context.Context) error {
	if l.overlays != nil {
		return l.overlays(ctx, l)
	}
	if notes, _ := filepath.Glob(filepath.Join(l.Dir, "overlays", "*", "overlay.json")); len(notes) > 0 { // the pattern is well formed
		return errors.New("an interrupted command left an overlay, and the ledger was opened without the function that joins it")
	}
	return nil
}

// overlaid reports whether the command of a snapshot had an overlay whose changes
// are not joined.
func (b *log) overlaid(file string) bool {
	notes, _ := filepath.Glob(filepath.Join(b.Dir, "overlays", "*", "overlay.json")) // the pattern is well formed
	return slices.ContainsFunc(notes, func(note string) bool {
		var n struct{ Pending string }
		return rootfs.ReadJSON(note, &n) == nil && n.Pending == filepath.Base(file)
	})
}

// InUse reports whether a command of this process still runs with the snapshot
// in that file.
func (l *Ledger) InUse(name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.active[filepath.Join(l.Dir, name)]
}

// Reopen reads the snapshot of an interrupted command that had an overlay. If it
// is gone already, or cannot be read, it is an empty one of root.
func (l *Ledger) Reopen(name, root string) (*Snapshot, error) {
	file := filepath.Join(l.Dir, name)
	s, err := l.readSnapshot(file)
	if errors.Is(err, errDamaged) {
		s, err = nil, l.abandon(file, err)
	}
	if s == nil && err == nil {
		s = &Snapshot{Ledger: l, Root: root, File: file, reopened: true}
	}
	return s, err
}

// AddNotes adds notes for the reader of the next command's output.
func (b *log) AddNotes(notes ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.later = append(b.later, notes...)
}

// interrupted lists the snapshots on disk that no running step of ours will record, in the order in which
// they began: of what several would record only the first does, and that of a server, which has rules,
// begins before that of the command that ran meanwhile.
func (b *log) interrupted() ([]string, error) {
	files, err := filepath.Glob(filepath.Join(b.Dir, "pending-*"))
	if err != nil {
		return nil, fmt.Errorf("looking for interrupted commands: %w", err)
	}
	return slices.DeleteFunc(files, func(f string) bool { return b.active[f] }), nil
}

// peek computes the changes that Recover would record, without recording them: for readers before
// a run of the job has done so. The end of ctx interrupts the comparison and is an error; the next
// call tries again.
func (l *Ledger) peek(ctx context.Context) error {
	l.mu.Lock()
	files, err := l.interrupted()
	skip := err != nil || len(files) == 0 || l.journal != nil || l.peeked || l.busy()
	l.peeked = l.peeked || !skip
	l.mu.Unlock()
	if skip {
		return nil
	}
	var found []record
	for _, file := range files {
		var r record
		s, err := l.readSnapshot(file)
		switch {
		case l.overlaid(file):
			r.Partial = "a command was cut short, and what it changed may not be in the workspace yet; resuming or undoing the job brings it there"
		case err == nil && s != nil:
			s.looking = true
			r, _, err = s.compare(ctx, nil)
		}
		if err != nil {
			r.Partial = unknownChanges + err.Error()
		}
		found = append(found, r)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.peeked = ctx.Err() == nil; !l.peeked {
		return context.Cause(ctx)
	}
	for _, r := range found {
		l.apply(r)
	}
	return nil
}

// busy reports whether another process adds to the ledger.
func (b *log) busy() bool {
	f, err := os.Open(filepath.Join(b.Dir, "journal"))
	if err != nil {
		return false
	}
	defer f.Close()
	return lock.Held(f)
}

// Incomplete returns why not everything that the job's commands changed is in
// the ledger, nil if all is. What is missing is not in Diff and cannot be undone.
func (l *Ledger) Incomplete(ctx context.Context) []string {
	cut := l.peek(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	why := slices.Clone(l.partial)
	if l.damage != "" {
		why = append(why, l.damage)
	}
	if cut != nil {
		why = append(why, unknownChanges+cut.Error())
	}
	var gone []string
	for _, p := range slices.Sorted(maps.Keys(l.unkept)) {
		if was := l.first[p]; was.Type == rootfs.TypeFile && !was.Equal(l.last[p].After) {
			gone = append(gone, p)
		}
	}
	if len(gone) > 0 {
		why = append(why, listed("the former content of these files was not kept, so that undo does not bring it back: ", gone))
	}
	return slices.Compact(slices.Sorted(slices.Values(why)))
}

// SyncedFile is the file beside the journal with the number of its bytes that were synced. It is
// written without a sync of its own, after that of the journal, so that it is never ahead: a
// journal that is shorter has lost records, and does not show that nothing was changed.
const SyncedFile = "journal-synced"

const syncedDigits = 20

// synced returns the number of bytes that a ledger's journal has at least, -1 if that is not
// known, as in the ledger of an earlier version.
func synced(dir string) int64 {
	text, err := os.ReadFile(filepath.Join(dir, SyncedFile))
	if err != nil {
		return -1
	}
	digits, whole := strings.CutSuffix(string(text), "\n")
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || !whole || len(digits) != syncedDigits {
		return -1 // one that was cut is another number
	}
	return n
}

// LengthNote returns the text of a SyncedFile.
func LengthNote(n int64) []byte { return fmt.Appendf(nil, "%0*d\n", syncedDigits, n) }

// noteSynced notes that the whole journal is synced. If sync is set the note is on disk when it returns.
func (b *log) noteSynced(sync bool) error {
	name := filepath.Join(b.Dir, SyncedFile)
	f, err := lock.Create(name)
	if err != nil && sync { // a directory, a link, or a file of somebody else
		if aside := b.putAside(name); aside == nil {
			f, err = lock.Create(name)
		}
	}
	if err != nil {
		return fmt.Errorf("writing the ledger: %w", err)
	}
	_, err = f.Write(LengthNote(b.good))
	if sync && err == nil {
		err = errors.Join(f.Sync(), rootfs.SyncDir(b.Dir))
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("writing the ledger: %w", err)
	}
	return nil
}

// lost notes why records of the journal are lost.
func (b *log) lost(why string) {
	b.damage = "the record of changes in " + filepath.Join(b.Dir, "journal") + " is damaged, and what it had is not known: " + why
}

// short notes it if a journal that was read to its end is shorter than it was.
func (b *log) short(least int64) {
	if b.good < least {
		b.lost(fmt.Sprintf("it has %d bytes of %d", b.good, least))
	}
}

// emptied notes it if there is content without any record of it, in a ledger whose journal never
// had a length noted.
func (b *log) emptied() {
	if b.good == 0 && b.damage == "" && keptWithoutNote(b.Dir) {
		b.lost("it is empty, although former content was kept for it")
	}
}

// keptWithoutNote reports whether a ledger has content, and no note of its journal's length.
func keptWithoutNote(dir string) bool {
	if synced(dir) >= 0 {
		return false
	}
	names, _ := os.ReadDir(filepath.Join(dir, "blobs")) // without it nothing is known
	return slices.ContainsFunc(names, func(f fs.DirEntry) bool { return !strings.HasPrefix(f.Name(), "new-") })
}

// makeWay puts aside what is in the journal's place and is no file.
func (b *log) makeWay() error {
	name := filepath.Join(b.Dir, "journal")
	if info, err := os.Stat(name); err != nil || info.Mode().IsRegular() {
		return nil
	}
	if err := b.putAside(name); err != nil {
		return fmt.Errorf("putting aside what is in place of the record of changes: %w", err)
	}
	return nil
}

func (b *log) putAside(name string) error {
	return rootfs.Move(name, filepath.Join(b.Dir, "damaged-"+rand.Text()))
}

// keepDamaged keeps a copy of a journal that is about to be cut where it is damaged.
func (b *log) keepDamaged() error {
	data, err := os.ReadFile(filepath.Join(b.Dir, "journal"))
	if b.damage == "" || int64(len(data)) <= b.good || err != nil {
		return err
	}
	return rootfs.WriteFile(filepath.Join(b.Dir, "damaged-"+rand.Text()), data)
}
