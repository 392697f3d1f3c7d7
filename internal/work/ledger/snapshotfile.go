package ledger

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/adroit-run/adroit/internal/system/rootfs"
)

// save makes the kept content durable and notes that a command is under way, so
// that its changes are found also if we are killed before Record.
func (s *Snapshot) save() error {
	l := s.Ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.begin(); err != nil {
		return err
	}
	p := pending{Root: s.Root, Step: l.StepPath, Partial: s.Partial, Began: s.began, Refs: s.refs, Barred: s.barred, Follows: s.follows, Before: make([]PathChange, 0, len(s.before))}
	for _, name := range slices.Sorted(maps.Keys(s.before)) {
		p.Before = append(p.Before, PathChange{Path: rootfs.RawName(name), Before: s.before[name]})
	}
	for _, name := range slices.Sorted(maps.Keys(s.unkept)) {
		p.Unkept = append(p.Unkept, rootfs.RawName(name))
	}
	for _, name := range slices.Sorted(maps.Keys(s.ignored)) {
		p.Ignored = append(p.Ignored, rootfs.RawName(name))
	}
	for p0 := range s.dirty {
		if _, there := s.before[p0]; !there {
			p.Gone = append(p.Gone, rootfs.RawName(p0))
		}
	}
	if s.index != nil {
		var err error
		if p.Index, err = l.saveIndex(s.index); err != nil {
			return fmt.Errorf("noting the files before the command: %w", err)
		}
		p.Prefix = s.prefix
		s.saved = p.Index
	}
	data, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("noting the files before the command: %w", err)
	}
	s.File = filepath.Join(l.Dir, fmt.Sprintf("pending-%016x-%s", time.Now().UnixNano(), rand.Text())) // see interrupted
	err = rootfs.SyncFS(filepath.Join(l.Dir, "blobs"))
	if err == nil {
		err = rootfs.WriteFile(s.File, data)
	}
	if err != nil {
		return l.RecordFailure(fmt.Errorf("noting the files before the command: %w", err))
	}
	l.active[s.File] = true
	return nil
}

// pending is a snapshot whose command has not been recorded.
type pending struct {
	Root    string           `json:"root"`
	Step    string           `json:"step,omitempty"`
	Partial string           `json:"partial,omitempty"`
	Began   int              `json:"began,omitempty"`
	Before  []PathChange     `json:"before"`
	Unkept  []rootfs.RawName `json:"unkept,omitempty"`
	Ignored []rootfs.RawName `json:"ignored,omitempty"`
	Index   string           `json:"index,omitempty"` // the file with git's index as it was
	Prefix  string           `json:"prefix,omitempty"`
	Refs    *refState        `json:"refs,omitempty"`
	Gone    []rootfs.RawName `json:"gone,omitempty"` // files of the index that were not there
	Barred  []Denied         `json:"barred,omitempty"`
	Follows bool             `json:"follows,omitempty"`
}

// saveIndex copies git's index, once for all snapshots that go by it.
func (b *log) saveIndex(x *gitIndex) (string, error) {
	name := fmt.Sprintf("index-%x-%x", x.stamp.mtime, x.stamp.size)
	if _, err := os.Lstat(filepath.Join(b.Dir, name)); err == nil {
		return name, nil
	}
	data, err := os.ReadFile(x.file)
	if err != nil {
		return "", err
	}
	if len(b.active) == 0 {
		old, _ := filepath.Glob(filepath.Join(b.Dir, "index-*")) // what stays costs room only
		for _, f := range old {
			_ = os.Remove(f)
		}
	}
	return name, rootfs.WriteFile(filepath.Join(b.Dir, name), data)
}

// readSnapshot reads a snapshot from disk, nil if it is not there any more.
func (l *Ledger) readSnapshot(file string) (*Snapshot, error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if errors.Is(err, syscall.EISDIR) {
		err = fmt.Errorf("%w: %w", errDamaged, err)
	}
	if err != nil {
		return nil, fmt.Errorf("reading what an interrupted command began with: %w", err)
	}
	var p pending
	if err := json.Unmarshal(data, &p); err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	s := &Snapshot{Ledger: l.At(p.Step), Root: p.Root, Partial: p.Partial, began: p.Began, refs: p.Refs, barred: p.Barred, follows: p.Follows, saved: filepath.Base(p.Index), File: file, before: map[string]rootfs.State{}, unkept: map[string]bool{}}
	for _, d := range p.Before {
		s.before[string(d.Path)] = d.Before
	}
	for _, name := range p.Unkept {
		s.unkept[string(name)] = true
	}
	s.ignored = map[string]bool{}
	for _, name := range p.Ignored {
		s.ignored[string(name)] = true
	}
	if s.reopened = true; p.Index != "" {
		if s.index, err = readIndex(filepath.Join(l.Dir, filepath.Base(p.Index)), p.Prefix); err != nil {
			if errors.Is(err, errIndex) || errors.Is(err, fs.ErrNotExist) {
				err = fmt.Errorf("%w: %w", errDamaged, err)
			}
			return nil, fmt.Errorf("reading what an interrupted command began with: %w", err)
		}
		s.dirty = map[string]bool{}
		for _, name := range p.Gone {
			s.dirty[string(name)] = true
		}
		for i := range s.index.files {
			e := &s.index.files[i]
			if _, other := s.before[e.name]; other {
				s.dirty[e.name] = true
			}
			e.perm = 0o644
			if e.exec {
				e.perm = 0o755
			}
		}
	}
	return s, nil
}

// SyncWorkspace makes a command's changes below root durable, with one call. It comes before the
// end of the snapshot and the outcome of the step: after a power cut either the command counts as
// interrupted or its files are there.
func (b *log) SyncWorkspace(root string) error {
	b.syncs.Add(1)
	if err := rootfs.SyncFS(root); err != nil {
		return b.RecordFailure(fmt.Errorf("syncing what a command changed: %w", err))
	}
	return nil
}

// Syncs returns the number of times that the workspace was synced.
func (b *log) Syncs() int64 { return b.syncs.Load() }

// Drop drops the snapshot without a comparison: the command's changes are known from elsewhere.
func (s *Snapshot) Drop() error {
	s.Leave()
	if err := os.Remove(s.File); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("closing the record of a command: %w", err)
	}
	return nil
}

// Leave leaves the snapshot to Recover.
func (s *Snapshot) Leave() {
	s.Ledger.mu.Lock()
	defer s.Ledger.mu.Unlock()
	delete(s.Ledger.active, s.File)
}

// MarksFile is the file in the directory of an overlay that has its Marks. Only a backup has one.
const MarksFile = "marks.json"

// Marks list what the upper layer of an overlay has in the form of devices, extended attributes and the
// like, which cannot be made everywhere. A backup has this list in their place, and a join reads it. The paths
// are those in the workspace.
type Marks struct {
	Removed []rootfs.RawName `json:"removed,omitempty"` // by the command
	Opaque  []rootfs.RawName `json:"opaque,omitempty"`  // directories that have nothing of what the workspace has in them
	Copied  []rootfs.RawName `json:"copied,omitempty"`  // changed copies of the workspace's files
	Missing []rootfs.RawName `json:"missing,omitempty"` // FIFOs and sockets, which no backup has
}

// Add adds what the file of a name in the directory dir, at the path p of the layer, has for the list.
// kept reports whether a backup also has the file itself.
func (m *Marks) Add(dir int, name, p string) (kept bool, err error) {
	st, err := rootfs.StatAt(dir, name)
	if err != nil {
		return false, err
	}
	switch rootfs.TypeOf(&st) {
	case unix.S_IFCHR:
		if st.Rdev == 0 {
			m.Removed = append(m.Removed, rootfs.RawName(p))
		}
		return false, nil
	case unix.S_IFIFO, unix.S_IFSOCK:
		m.Missing = append(m.Missing, rootfs.RawName(p))
		return false, nil
	case unix.S_IFDIR:
		if v, _ := rootfs.AttrAt(dir, name, "user.overlay.opaque"); v == "y" {
			m.Opaque = append(m.Opaque, rootfs.RawName(p))
		}
	default:
		if _, there := rootfs.AttrAt(dir, name, "user.overlay.origin"); there {
			m.Copied = append(m.Copied, rootfs.RawName(p))
		}
	}
	return true, nil
}

// Empty reports whether there is nothing in the list.
func (m *Marks) Empty() bool {
	return len(m.Removed)+len(m.Opaque)+len(m.Copied)+len(m.Missing) == 0
}

// ReadMarks reads the list of the overlay in dir, which is empty if there is none.
func ReadMarks(dir string) (*Marks, error) {
	m := &Marks{}
	b, err := os.ReadFile(filepath.Join(dir, MarksFile))
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	if err == nil {
		err = json.Unmarshal(b, m)
	}
	for _, p := range slices.Concat(m.Removed, m.Opaque, m.Copied, m.Missing) {
		// The archive may be anybody's, and the names are followed from the workspace.
		if name := string(p); err == nil && (path.IsAbs(name) || name != path.Clean(name) || slices.Contains([]string{".", ".."}, name) || strings.HasPrefix(name, "../")) {
			err = fmt.Errorf("%q is no path in a workspace", name)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("what the interrupted command removed is not known: %s: %w", filepath.Join(dir, MarksFile), err)
	}
	return m, nil
}

// A Waiting lists a command's changes that no tree has yet: the command was killed with its
// runner, or its changes could not be brought into the workspace. [Ledger.Recover] brings them
// there.
type Waiting struct {
	Dir   string   // has it, and nothing else does
	Paths []string // in the workspace, of what was made, changed or removed; sorted
}

// FindWaiting finds the waiting changes in the ledger in dir, without opening it. Commands may
// still run, so the caller must know that the job does not.
func FindWaiting(dir string) ([]Waiting, error) {
	notes, err := filepath.Glob(filepath.Join(dir, "overlays", "*", "overlay.json"))
	if err != nil {
		return nil, err
	}
	var all []Waiting
	for _, note := range notes {
		b, err := os.ReadFile(note)
		var n struct{ Root, Pending string }
		if errors.Is(err, fs.ErrNotExist) || err == nil && json.Unmarshal(b, &n) != nil {
			continue // joined meanwhile, or no command began with it
		} else if err != nil {
			return nil, err
		}
		_, gone := os.Lstat(filepath.Join(dir, n.Pending))
		w := Waiting{Dir: filepath.Join(filepath.Dir(note), "upper")}
		if w.Paths, err = leaves(w.Dir, n.Pending != "" && gone == nil); err != nil {
			return nil, err
		}
		if w.Paths, err = withMarks(w.Paths, filepath.Dir(note), n.Root); err != nil {
			return nil, err
		}
		if len(w.Paths) > 0 {
			all = append(all, w)
		}
	}
	return all, nil
}

// withMarks adds to the leaves of an upper layer what the list in dir has instead of it.
func withMarks(names []string, dir, root string) ([]string, error) {
	m, err := ReadMarks(dir)
	if err != nil {
		return nil, err
	}
	for _, p := range m.Removed {
		if _, err := os.Lstat(filepath.Join(root, string(p))); errors.Is(err, fs.ErrNotExist) {
			continue // joined before a kill
		}
		names = slices.DeleteFunc(names, func(n string) bool { return strings.HasPrefix(string(p), n+"/") })
		names = append(names, string(p))
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// leaves lists the names below dir that have none below them. Without empty, it leaves out
// directories, which remain after their content has been joined.
func leaves(dir string, empty bool) (names []string, err error) {
	err = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case p == dir:
			return nil
		}
		if d.IsDir() {
			if !empty {
				return nil
			}
			if in, err := os.ReadDir(p); err != nil || len(in) > 0 {
				return err
			}
		}
		rel, err := filepath.Rel(dir, p)
		names = append(names, filepath.ToSlash(rel))
		return err
	})
	slices.Sort(names)
	return names, err
}

// StepChanges are the changes of one step.
type StepChanges struct {
	Step    string   `json:"step"` // empty: before steps were noted
	Changes []Change `json:"changes"`
	Refs    []Change `json:"refs,omitempty"` // of the repository
	Dirs    []Change `json:"dirs,omitempty"` // see Directories
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
		dirs, err := part.Directories(ctx)
		if err != nil {
			return nil, err
		}
		if len(cs)+len(refs)+len(dirs) > 0 {
			steps = append(steps, StepChanges{Step: s, Changes: cs, Refs: refs, Dirs: dirs})
		}
	}
	return steps, nil
}
