package ledger

import (
	"context"
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

	"github.com/adroit-run/adroit/internal/rootfs"
)

// maxSnapBytes bounds the content that is copied for one snapshot.
const maxSnapBytes = 256 << 20

// A stamp changes when a file is touched after its content was last read.
type stamp struct {
	size  int64
	mod   int64
	inode uint64
	ctime int64
	mode  fs.FileMode
	state rootfs.State
	kept  bool
}

// A Snapshot is how the files that git does not ignore looked before a command.
// Use it once, for one Record.
type Snapshot struct {
	Ledger *Ledger
	Root   string
	before map[string]rootfs.State // but for the files that were as git's index has them
	unkept map[string]bool
	index  *gitIndex       // nil: none that could be read
	prefix string          // of the root in the repository
	dirty  map[string]bool // files of the index that were not as it has them
	began  int             // entries of the ledger when it was taken
	File   string          // what is needed for Record, on disk
	// looking: nothing may be written, so content from git stays in memory.
	looking bool
	// reopened: it was read from disk, where only the index has what it has.
	reopened bool
	// Partial says why not everything was noted, if that is so: changes to what
	// was left out are not in the record and cannot be undone.
	Partial string
}

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
	began := len(l.entries)
	l.mu.Unlock()
	s := &Snapshot{Ledger: l, began: began, Root: root, unkept: map[string]bool{}}
	s.index, s.prefix = l.indexed(ctx, t)
	if s.before, s.dirty, err = s.scan(ctx, t, true); err != nil {
		return nil, err
	}
	return s, s.save()
}

// indexed is git's index, read anew if it has changed; nil if it cannot be used.
func (b *log) indexed(ctx context.Context, t *rootfs.Tree) (*gitIndex, string) {
	b.scans.Lock()
	defer b.scans.Unlock()
	if x := b.index; x != nil && x.dir == t.Dir {
		if st, err := t.Stat(x.file); err == nil && stampFrom(&st) == x.now {
			return x, b.prefix
		}
	}
	var err error
	if b.index, b.prefix, err = indexOf(ctx, t); err != nil {
		b.index = nil
	}
	return b.index, b.prefix
}

// scan reads the state of every file, link and directory, except the files that
// are as the index has them. Those of the index that are not are others.
func (s *Snapshot) scan(ctx context.Context, t *rootfs.Tree, keep bool) (found map[string]rootfs.State, others map[string]bool, err error) {
	b := s.Ledger.log
	b.scans.Lock()
	defer b.scans.Unlock()
	ls, err := b.list(ctx, t, s.index)
	if err != nil {
		return nil, nil, err
	}
	var x gitIndex
	if s.index != nil {
		x = *s.index
	}
	names := slices.Clip(ls.files)
	for _, p := range b.Paths() { // also those that are ignored
		if _, found := slices.BinarySearch(ls.files, p); !found && x.find(p) == nil {
			names = append(names, p)
		}
	}
	if ls.more {
		s.Partial = fmt.Sprintf("the workspace has more than %d files; changes to the rest were not recorded", rootfs.MaxNames)
	}
	found = maps.Clone(ls.dirs)
	others = map[string]bool{}
	var bytes int64
	look, now := looker(t), time.Now()
	for i := range len(x.files) + len(names) {
		if i%1000 == 0 && ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		var p string
		var e *tracked
		if i < len(x.files) {
			e = &x.files[i]
			p = e.name
		} else {
			p = names[i-len(x.files)]
		}
		st, ok := look(p)
		if ok && e != nil && !(keep && !stampFrom(&st).settled(now)) && s.asIndexed(t, p, e, &st, keep) {
			continue
		}
		if e != nil {
			others[p] = true
		}
		if ok {
			_ = s.read(t, p, keep, &bytes, found) // one that is unreadable, or gone since, is left out
		}
	}
	return found, others, nil
}

// looker returns a func that looks at files and links of the tree, and at nothing
// that is not reached through directories alone.
func looker(t *rootfs.Tree) func(p string) (unix.Stat_t, bool) {
	straight := map[string]bool{".": true}
	last, fine := "", true // files of one directory come in a row
	return func(p string) (unix.Stat_t, bool) {
		dir := ""
		if i := strings.LastIndexByte(p, '/'); i >= 0 {
			dir = p[:i]
		}
		if dir != last {
			last, fine = dir, dir == "" || t.IsPlainDir(dir, straight)
		}
		if !fine {
			return unix.Stat_t{}, false
		}
		st, err := t.Stat(p)
		kind := st.Mode & unix.S_IFMT
		return st, err == nil && (kind == unix.S_IFREG || kind == unix.S_IFLNK)
	}
}

// asIndexed reports whether a file is as the index has it, and was before.
func (s *Snapshot) asIndexed(t *rootfs.Tree, p string, e *tracked, st *unix.Stat_t, first bool) bool {
	perm := fs.FileMode(st.Mode & 0o777)
	if !first {
		return !s.dirty[p] && (e.perm == perm || s.reopened) && e.Clean(st)
	}
	if !e.Clean(st) {
		s.Ledger.mu.Lock()
		_, other := s.Ledger.cache[p]
		s.Ledger.mu.Unlock()
		if other || !e.verify(t, p, st) {
			return false
		}
	}
	e.perm = perm
	return true
}

// read reads the state of a file or link.
func (s *Snapshot) read(t *rootfs.Tree, p string, keep bool, bytes *int64, found map[string]rootfs.State) error {
	info, err := t.Root.Lstat(p)
	if err != nil {
		return err
	}
	*bytes += info.Size()
	// What no tool may read is not copied either: its change shows, but is
	// not undone.
	st, kept, err := s.Ledger.stampOf(t, p, info, keep && *bytes <= maxSnapBytes && s.Ledger.DenyList.Check(p, p, false) == nil)
	if err != nil {
		return err
	}
	found[p] = st
	if keep && !kept {
		s.unkept[p] = true
	}
	return nil
}

// Paths returns the paths that the ledger has entries for, sorted.
func (b *log) Paths() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Sorted(maps.Keys(b.first))
}

// stampOf reads the state of a file unless it is as it was last time.
func (b *log) stampOf(t *rootfs.Tree, p string, info fs.FileInfo, keep bool) (rootfs.State, bool, error) {
	now := stamp{size: info.Size(), mod: info.ModTime().UnixNano(), mode: info.Mode()}
	settled := false
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		now.inode, now.ctime = st.Ino, rootfs.Ctime(st)
		// A file changed this very moment can be changed again without a trace.
		settled = time.Since(time.Unix(0, max(now.ctime, now.mod))) > 50*time.Millisecond
	}
	b.mu.Lock()
	was, ok := b.cache[p]
	b.mu.Unlock()
	if ok && was.kept || ok && !keep {
		now.state, now.kept = was.state, was.kept
		if now == was {
			return was.state, was.kept, nil
		}
	}
	var err error
	if now.kept = keep && info.Size() <= MaxKeep && !b.Full(); now.kept {
		now.state, err = b.Capture(t, p, false)
	} else {
		now.state, err = t.State(p, nil)
	}
	if err != nil {
		return rootfs.State{}, false, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if settled {
		b.cache[p] = now
	} else {
		delete(b.cache, p)
	}
	return now.state, now.kept, nil
}

// save makes the kept content durable and notes that a command is under way, so
// that its changes are found also if we are killed before Record.
func (s *Snapshot) save() error {
	l := s.Ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.begin(); err != nil {
		return err
	}
	p := pending{Root: s.Root, Step: l.StepPath, Partial: s.Partial, Began: s.began, Before: make([]PathChange, 0, len(s.before))}
	for _, name := range slices.Sorted(maps.Keys(s.before)) {
		p.Before = append(p.Before, PathChange{Path: rootfs.RawName(name), Before: s.before[name]})
	}
	for _, name := range slices.Sorted(maps.Keys(s.unkept)) {
		p.Unkept = append(p.Unkept, rootfs.RawName(name))
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
	}
	data, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("noting the files before the command: %w", err)
	}
	f, err := os.CreateTemp(l.Dir, "new-*") // 0600
	if err != nil {
		return l.RecordFailure(fmt.Errorf("noting the files before the command: %w", err))
	}
	_, err = f.Write(data)
	err = errors.Join(err, rootfs.SyncFS(filepath.Join(l.Dir, "blobs")), f.Sync(), f.Close())
	if err == nil {
		s.File = strings.Replace(f.Name(), "new-", "pending-", 1)
		err = errors.Join(os.Rename(f.Name(), s.File), rootfs.SyncDir(l.Dir))
	}
	if err != nil {
		_ = os.Remove(f.Name())
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
	Index   string           `json:"index,omitempty"` // the file with git's index as it was
	Prefix  string           `json:"prefix,omitempty"`
	Gone    []rootfs.RawName `json:"gone,omitempty"` // files of the index that were not there
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
	return name, os.WriteFile(filepath.Join(b.Dir, name), data, 0o600)
}

// Recover notes what commands changed that were under way when the process that
// ran them was killed. Who changed it, and whether before or after that, is not
// known: all of it is uncertain, but for commands that had an overlay: what that
// has is brought into the workspace. It does nothing while another process has the
// ledger. A run calls it before its first step.
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
		if err != nil {
			return err
		}
		if s == nil {
			continue
		}
		if _, err := s.Record(ctx); err != nil {
			return err
		}
	}
	return nil
}

// joinOverlays joins what interrupted commands changed in overlays.
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
// is gone already, it is an empty one of root.
func (l *Ledger) Reopen(name, root string) (*Snapshot, error) {
	file := filepath.Join(l.Dir, name)
	s, err := l.readSnapshot(file)
	if s == nil && err == nil {
		s = &Snapshot{Ledger: l, Root: root, File: file}
	}
	return s, err
}

// AddNotes adds to what the reader of the next command's output gets to know.
func (b *log) AddNotes(notes ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.later = append(b.later, notes...)
}

// interrupted are the snapshots on disk that nobody of ours waits to record.
func (b *log) interrupted() ([]string, error) {
	files, err := filepath.Glob(filepath.Join(b.Dir, "pending-*"))
	if err != nil {
		return nil, fmt.Errorf("looking for interrupted commands: %w", err)
	}
	return slices.DeleteFunc(files, func(f string) bool { return b.active[f] }), nil
}

// readSnapshot reads a snapshot from disk, nil if it is not there any more.
func (l *Ledger) readSnapshot(file string) (*Snapshot, error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var p pending
	if err == nil {
		err = json.Unmarshal(data, &p)
	}
	if err != nil {
		return nil, fmt.Errorf("reading what an interrupted command began with: %w", err)
	}
	s := &Snapshot{Ledger: l.At(p.Step), Root: p.Root, Partial: p.Partial, began: p.Began, File: file, before: map[string]rootfs.State{}, unkept: map[string]bool{}}
	for _, d := range p.Before {
		s.before[string(d.Path)] = d.Before
	}
	for _, name := range p.Unkept {
		s.unkept[string(name)] = true
	}
	if s.reopened = true; p.Index != "" {
		if s.index, err = readIndex(filepath.Join(l.Dir, filepath.Base(p.Index)), p.Prefix); err != nil {
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

// peek takes in what Recover would note, without noting it: for those who only
// read, while no run of the job has taken care of it.
func (l *Ledger) peek(ctx context.Context) {
	l.mu.Lock()
	files, err := l.interrupted()
	skip := err != nil || len(files) == 0 || l.journal != nil || l.peeked || l.busy()
	l.peeked = l.peeked || !skip
	l.mu.Unlock()
	if skip {
		return
	}
	for _, file := range files {
		var r record
		s, err := l.readSnapshot(file)
		switch {
		case l.overlaid(file):
			r.Partial = "a command was cut short, and what it changed is not in the workspace yet; resuming or undoing the job brings it there"
		case err == nil && s != nil:
			s.looking = true
			r, _, err = s.compare(ctx, nil)
		}
		if err != nil {
			r.Partial = "a command was cut short, and what it changed is not known: " + err.Error()
		}
		l.mu.Lock()
		l.apply(r)
		l.mu.Unlock()
	}
}

// busy reports whether another process adds to the ledger.
func (b *log) busy() bool {
	f, err := os.Open(filepath.Join(b.Dir, "journal"))
	if err != nil {
		return false
	}
	defer f.Close()
	return unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB) != nil
}

// InIndex reports whether git's index has the file as the snapshot found it.
func (s *Snapshot) InIndex(p string) bool { return s.index != nil && s.index.find(p) != nil }

// StateBefore is what the snapshot found at a path, if it looked at it.
func (s *Snapshot) StateBefore(p string) (st rootfs.State, known bool) {
	st, known = s.before[p]
	return st, known
}

// Drop takes the snapshot away without a comparison: what the command changed
// is known otherwise.
func (s *Snapshot) Drop() error {
	s.Leave()
	if err := os.Remove(s.File); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("closing the record of a command: %w", err)
	}
	return nil
}

// Leave gives the snapshot to whoever recovers what was interrupted.
func (s *Snapshot) Leave() {
	s.Ledger.mu.Lock()
	defer s.Ledger.mu.Unlock()
	delete(s.Ledger.active, s.File)
}

// Record notes in the ledger what is different from when the snapshot was taken
// and returns the files that are, sorted. Changes the file tools made meanwhile
// are theirs already. The others are uncertain: a comparison does not show
// whether the command, a person or another job made them. Reported are paths
// that the program itself reported to have changed, "." for all: these changes
// are evidence of work, and as uncertain as the others otherwise. If it fails, the snapshot
// is recorded with the next one, or by Recover.
func (s *Snapshot) Record(ctx context.Context, reported ...string) (changed []string, err error) {
	l := s.Ledger
	defer func() {
		l.mu.Lock()
		delete(l.active, s.File)
		l.mu.Unlock()
	}()
	r, changed, err := s.compare(ctx, reported)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(r.Changes) > 0 || r.Partial != "" {
		if err := l.add(r, true); err != nil {
			return nil, err
		}
	}
	if err := os.Remove(s.File); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return changed, fmt.Errorf("closing the record of a command: %w", err)
	}
	return changed, nil
}

// temporary reports whether a name is one that only adroit's tools give.
func temporary(p string) bool {
	ok, _ := path.Match(".adroit-*", path.Base(p))
	return ok
}

// compare finds what is different now.
func (s *Snapshot) compare(ctx context.Context, reported []string) (r record, changed []string, err error) {
	t, err := rootfs.Open(s.Root)
	if err != nil {
		return r, nil, err
	}
	defer t.Close()
	after, others, err := s.scan(ctx, t, false)
	if err == nil {
		err = s.Recall(ctx, t, others)
	}
	if err != nil {
		return r, nil, err
	}
	r = record{Step: s.Ledger.StepPath, Partial: s.Partial}
	mine := s.Ledger.since(s.began)
	for _, p := range s.union(after) {
		was, now := s.before[p], after[p]
		if _, had := s.before[p]; !had && s.Partial != "" {
			continue // perhaps it was there, and was not looked at
		}
		if now.Type == "" && was.Type != "" { // perhaps it is only ignored now
			if now, err = t.State(p, nil); err != nil {
				continue
			}
		}
		if now.Equal(was) || s.Ledger.Has(p, now) {
			continue
		}
		if between, ok := mine[p]; ok {
			was = between
		}
		r.Changes = append(r.Changes, PathChange{Path: rootfs.RawName(p), Before: was, After: now, Uncertain: !temporary(p), Reported: slices.Contains(reported, p) || slices.Contains(reported, ".")})
		if s.unkept[p] {
			r.Unkept = append(r.Unkept, rootfs.RawName(p))
		}
		if was.Type != rootfs.TypeDir && now.Type != rootfs.TypeDir {
			changed = append(changed, p)
		}
	}
	PairRenames(r.Changes)
	return r, changed, nil
}

// Recall takes into the states before the command the files that were as the
// index had them and are not any more. Git has their content.
func (s *Snapshot) Recall(ctx context.Context, t *rootfs.Tree, others map[string]bool) error {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(others)), func(p string) bool { return s.dirty[p] })
	for some := range slices.Chunk(names, 200) {
		var oids []string
		for _, p := range some {
			oids = append(oids, s.index.find(p).id())
		}
		content, err := contents(ctx, t, oids)
		if err != nil && ctx.Err() != nil {
			return ctx.Err()
		}
		for _, p := range some {
			e := s.index.find(p)
			data, ok := content[e.id()]
			was := rootfs.State{Type: rootfs.TypeFile, Mode: e.perm, Digest: "git-" + e.id()}
			if st, err := t.Stat(p); s.reopened && err == nil && e.exec == (st.Mode&0o100 != 0) {
				was.Mode = fs.FileMode(st.Mode & 0o777) // nobody noted it
			}
			if ok {
				was.Digest, was.Size = rootfs.Digest(data), int64(len(data))
			}
			if !ok || s.Ledger.keepFromGit(was.Digest, data, s.looking || s.Ledger.DenyList.Check(p, p, false) != nil) != nil {
				s.unkept[p] = true
			}
			s.before[p] = was
		}
	}
	if len(names) > 0 && !s.looking {
		return rootfs.SyncFS(filepath.Join(s.Ledger.Dir, "blobs"))
	}
	return nil
}

// keepFromGit keeps what a command replaced, or has it for a while.
func (b *log) keepFromGit(digest string, data []byte, looking bool) error {
	if !looking {
		return b.Store(data)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.memory == nil {
		b.memory = map[string][]byte{}
	}
	b.memory[digest] = data
	return nil
}

// since is how the paths were left that other steps changed after an entry:
// what a command in the background changes later builds on that.
func (b *log) since(began int) map[string]rootfs.State {
	b.mu.Lock()
	defer b.mu.Unlock()
	left := map[string]rootfs.State{}
	for _, e := range b.entries[min(began, len(b.entries)):] {
		left[string(e.Path)] = e.After
	}
	return left
}

// Has reports whether the ledger knows already that p is like this.
func (b *log) Has(p string, now rootfs.State) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	d, ok := b.last[p]
	return ok && d.After.Equal(now)
}

func (s *Snapshot) union(after map[string]rootfs.State) []string {
	all := maps.Clone(s.before)
	maps.Copy(all, after)
	return slices.Sorted(maps.Keys(all))
}

// PairRenames finds what a command renamed: content that went from one name to another.
func PairRenames(ds []PathChange) {
	gone := map[string]rootfs.RawName{}
	for _, d := range ds {
		if d.After.Type == "" && d.Before.Type == rootfs.TypeFile && d.Before.Size > 0 {
			gone[d.Before.Digest] = d.Path
		}
	}
	for i, d := range ds {
		if d.Before.Type == "" && d.After.Type == rootfs.TypeFile {
			if from, ok := gone[d.After.Digest]; ok && !strings.HasPrefix(string(d.Path), string(from)+"/") {
				ds[i].From = from
				delete(gone, d.After.Digest)
			}
		}
	}
}
