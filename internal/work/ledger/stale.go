package ledger

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/adroit-run/adroit/internal/system/rootfs"
)

// Stale are the files that are not as the job last saw them or left them, in three
// kinds, each sorted.
type Stale struct {
	Changed []string
	Deleted []string
	Undone  []string // by an undo of the job's changes
	Digest  string   // of what they are now; "" if there are none
}

// maxStale bounds the bytes of a file whose content is compared; a larger one is
// compared by its size.
const maxStale = 32 << 20

// Stale compares what the job knows of files with how they are.
func (l *Ledger) Stale(ctx context.Context, root string) (s Stale, err error) {
	l.mu.Lock()
	seen := maps.Clone(l.seen)
	l.mu.Unlock()
	return l.compare(ctx, root, seen, func(string) bool { return true })
}

// Lost compares the files that finished steps have changed with what these left: after
// a power cut they may be missing, or as they were. What an interrupted command changed
// is that command's, whether or not Recover has noted it.
func (l *Ledger) Lost(ctx context.Context, root string, finished func(step string) bool) (Stale, error) {
	if err := l.peek(ctx); err != nil {
		return Stale{}, err
	}
	return l.compare(ctx, root, nil, func(step string) bool { return strings.HasPrefix(step, undoStep) || finished(step) })
}

// compare compares the files that were read, and those that steps changed last that
// count.
func (l *Ledger) compare(ctx context.Context, root string, seen map[string]string, counts func(step string) bool) (s Stale, err error) {
	t, err := rootfs.Open(root)
	if err != nil {
		return s, err
	}
	defer t.Close()
	l.mu.Lock()
	last, by := maps.Clone(l.last), map[string]string{}
	for _, e := range l.entries {
		by[string(e.Path)] = e.step
	}
	l.mu.Unlock()
	paths := map[string]bool{}
	for p := range seen {
		paths[p] = true
	}
	for p := range last {
		paths[p] = counts(by[p])
	}
	sum := sha256.New()
	for _, p := range slices.Sorted(maps.Keys(paths)) {
		if err := ctx.Err(); err != nil {
			return s, err
		}
		if !paths[p] {
			continue
		}
		digest, read := seen[p]
		change, changed := last[p]
		now, known := current(t, p, change.After)
		switch {
		case !known || changed && (change.After.Type == rootfs.TypeDir || change.After.Type == "" && now.Type == rootfs.TypeDir):
			continue
		case strings.HasPrefix(by[p], undoStep) && now.Equal(change.After):
			s.Undone = append(s.Undone, p)
		case read && now.Digest == digest || changed && now.Digest == change.After.Digest:
			continue
		case now.Type == "":
			s.Deleted = append(s.Deleted, p)
		default:
			s.Changed = append(s.Changed, p)
		}
		fmt.Fprintf(sum, "%q %s %d\n", p, now.Digest, now.Size)
		s.Digest = hex.EncodeToString(sum.Sum(nil))
	}
	return s, nil
}

// current is the state of a path; a directory, and what is neither file nor link, has
// its kind for a digest. It is not known of what cannot be read, and of a
// large file that has the size that it had.
func current(t *rootfs.Tree, p string, left rootfs.State) (rootfs.State, bool) {
	info, err := t.Root.Lstat(p)
	if err == nil && info.Mode()&^fs.ModePerm == 0 && info.Size() > maxStale {
		return rootfs.State{Type: rootfs.TypeFile, Size: info.Size()}, info.Size() != left.Size
	}
	if err == nil && info.IsDir() {
		return rootfs.State{Type: rootfs.TypeDir, Digest: rootfs.TypeDir}, true
	}
	if err == nil && info.Mode().Type()&^fs.ModeSymlink != 0 {
		kind := info.Mode().Type().String()
		return rootfs.State{Type: kind, Digest: kind}, true
	}
	s, err := t.State(p, nil)
	return s, err == nil
}

// mostNamed bounds the files of one kind that a message names.
const mostNamed = 20

// String is what a model is given to know of the files, "" if there are none.
func (s Stale) String() string {
	list := s.List()
	if list == "" {
		return ""
	}
	return "Files are not as you know them, by somebody else's hand. " + list
}

// List names the files by kind, "" if there are none.
func (s Stale) List() string {
	var parts []string
	for _, k := range []struct {
		what  string
		paths []string
	}{{"changed", s.Changed}, {"deleted", s.Deleted}, {"undone by the user, so as before your changes", s.Undone}} {
		list := k.paths
		if len(list) == 0 {
			continue
		}
		list, more := slices.Clone(list), ""
		for i, p := range list {
			if strings.ContainsFunc(p, func(r rune) bool { return !strconv.IsPrint(r) }) {
				list[i] = strconv.Quote(p)
			}
		}
		if n := len(list) - mostNamed; n > 0 {
			list, more = list[:mostNamed], fmt.Sprintf(" and %d more", n)
		}
		parts = append(parts, k.what+": "+strings.Join(list, ", ")+more)
	}
	return strings.Join(parts, "; ")
}
