package workspace

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
)

const (
	maxSnapFiles = 20_000
	maxSnapBytes = 256 << 20
)

// A stamp tells whether a file was touched since its content was last read.
type stamp struct {
	size  int64
	mod   int64
	inode uint64
	ctime int64
	mode  fs.FileMode
	state state
	kept  bool
}

// A Snapshot is how the files that git does not ignore looked before a command.
// Use it once, for one Record.
type Snapshot struct {
	l      *Ledger
	root   string
	before map[string]state
	unkept map[string]bool
	began  int    // entries of the ledger when it was taken
	file   string // what is needed for Record, on disk
	// Partial says why not everything was noted, if that is so: changes to what
	// was left out are not in the record and cannot be undone.
	Partial string
}

// Snapshot keeps the content of root's files, so that whatever a command does
// to them can be recorded and undone. Up to 20,000 files and 256 MiB are kept;
// of what is beyond the bytes, changes are noted but cannot be undone. What
// has not been touched since an earlier Snapshot costs no reading.
func (l *Ledger) Snapshot(ctx context.Context, root string) (*Snapshot, error) {
	if err := l.settle(ctx); err != nil {
		return nil, err
	}
	if step, ok := ctx.Value(stepKey{}).(string); ok {
		l = l.At(step)
	}
	t, err := openTree(root)
	if err != nil {
		return nil, err
	}
	defer t.close()
	l.mu.Lock()
	began := len(l.log)
	l.mu.Unlock()
	s := &Snapshot{l: l, began: began, root: root, unkept: map[string]bool{}}
	if s.before, err = s.scan(ctx, t, true); err != nil {
		return nil, err
	}
	return s, s.save()
}

// scan reads the state of every file, link and directory.
func (s *Snapshot) scan(ctx context.Context, t *tree, keep bool) (map[string]state, error) {
	names, more, err := t.names(ctx, ".")
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	for _, p := range s.l.paths() { // also those that are ignored
		if _, found := slices.BinarySearch(names, p); !found {
			names = append(names, p)
		}
	}
	if more || len(names) > maxSnapFiles {
		names = names[:min(len(names), maxSnapFiles)]
		s.Partial = fmt.Sprintf("the workspace has more than %d files; changes to the rest were not recorded", maxSnapFiles)
	}
	found := map[string]state{}
	var bytes int64
	for _, p := range names {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if t.plain(p) != nil {
			continue
		}
		info, err := t.root.Lstat(p)
		if err != nil || info.IsDir() || !info.Mode().IsRegular() && info.Mode()&fs.ModeSymlink == 0 {
			continue
		}
		bytes += info.Size()
		// What no tool may read is not copied either: its change shows, but is
		// not undone.
		st, kept, err := s.l.stampOf(t, p, info, keep && bytes <= maxSnapBytes && s.l.names.deny(p, p, false) == nil)
		if err != nil {
			continue // unreadable, or gone since
		}
		found[p] = st
		if keep && !kept {
			s.unkept[p] = true
		}
	}
	dirs, err := t.dirs(ctx, found)
	maps.Copy(found, dirs)
	return found, err
}

// paths are those the ledger has heard of, sorted.
func (b *book) paths() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Sorted(maps.Keys(b.first))
}

// stampOf reads the state of a file unless it is as it was last time.
func (b *book) stampOf(t *tree, p string, info fs.FileInfo, keep bool) (state, bool, error) {
	now := stamp{size: info.Size(), mod: info.ModTime().UnixNano(), mode: info.Mode()}
	settled := false
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		now.inode, now.ctime = st.Ino, ctime(st)
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
	if now.kept = keep && info.Size() <= maxKeep && !b.full(); now.kept {
		now.state, err = b.capture(t, p, false)
	} else {
		now.state, err = t.state(p, nil)
	}
	if err != nil {
		return state{}, false, err
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

// dirs returns the directories that exist, except those that hold no work, and
// those above the given names.
func (t *tree) dirs(ctx context.Context, names map[string]state) (map[string]state, error) {
	found := map[string]state{}
	add := func(d string) {
		if info, err := t.root.Lstat(d); err == nil && info.IsDir() {
			found[d] = state{Type: isDir, Mode: info.Mode().Perm()}
		}
	}
	for p := range names {
		for d := path.Dir(p); d != "."; d = path.Dir(d) {
			if _, ok := found[d]; ok {
				break
			}
			add(d)
		}
	}
	seen := 0
	err := fs.WalkDir(t.root.FS(), ".", func(p string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil || !d.IsDir() || p == "." {
			return nil
		}
		if slices.Contains(skipped, d.Name()) {
			return fs.SkipDir
		}
		if seen++; seen > maxSnapFiles {
			return fs.SkipAll
		}
		if _, ok := found[p]; !ok {
			add(p)
		}
		return nil
	})
	return found, err
}

// save makes the kept content durable and notes that a command is under way, so
// that its changes are found also if we are killed before Record.
func (s *Snapshot) save() error {
	l := s.l
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.begin(); err != nil {
		return err
	}
	p := pending{Root: s.root, Step: l.step, Partial: s.Partial, Began: s.began, Before: make([]delta, 0, len(s.before))}
	for _, name := range slices.Sorted(maps.Keys(s.before)) {
		p.Before = append(p.Before, delta{Path: rawName(name), Before: s.before[name]})
	}
	for _, name := range slices.Sorted(maps.Keys(s.unkept)) {
		p.Unkept = append(p.Unkept, rawName(name))
	}
	data, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("noting the files before the command: %w", err)
	}
	f, err := os.CreateTemp(l.dir, "new-*") // 0600
	if err != nil {
		return l.failed(fmt.Errorf("noting the files before the command: %w", err))
	}
	_, err = f.Write(data)
	err = errors.Join(err, syncBlobs(filepath.Join(l.dir, "blobs")), f.Sync(), f.Close())
	if err == nil {
		s.file = strings.Replace(f.Name(), "new-", "pending-", 1)
		err = errors.Join(os.Rename(f.Name(), s.file), syncDir(l.dir))
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return l.failed(fmt.Errorf("noting the files before the command: %w", err))
	}
	l.active[s.file] = true
	return nil
}

// pending is a snapshot whose command has not been recorded.
type pending struct {
	Root    string    `json:"root"`
	Step    string    `json:"step,omitempty"`
	Partial string    `json:"partial,omitempty"`
	Began   int       `json:"began,omitempty"`
	Before  []delta   `json:"before"`
	Unkept  []rawName `json:"unkept,omitempty"`
}

// settle records what commands changed that were under way when their runner
// was killed. It does nothing while another process has the ledger.
func (l *Ledger) settle(ctx context.Context) error {
	files, err := filepath.Glob(filepath.Join(l.dir, "pending-*"))
	if err != nil {
		return fmt.Errorf("looking for interrupted commands: %w", err)
	}
	l.mu.Lock()
	files = slices.DeleteFunc(files, func(f string) bool { return l.active[f] })
	busy := len(files) == 0 || l.begin() != nil
	l.mu.Unlock()
	if busy {
		return nil
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var p pending
		if err == nil {
			err = json.Unmarshal(data, &p)
		}
		if err != nil {
			return fmt.Errorf("reading what an interrupted command began with: %w", err)
		}
		s := &Snapshot{l: l.At(p.Step), root: p.Root, Partial: p.Partial, began: p.Began, file: file, before: map[string]state{}, unkept: map[string]bool{}}
		for _, d := range p.Before {
			s.before[string(d.Path)] = d.Before
		}
		for _, name := range p.Unkept {
			s.unkept[string(name)] = true
		}
		if _, err := s.Record(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Record notes in the ledger what is different from when the snapshot was taken
// and returns the files that are, sorted. Changes the file tools made meanwhile
// are theirs already. The others are uncertain: a comparison does not show
// whether the command, a person or another job made them. Reported are paths
// that the program itself reported to have changed: these changes are evidence
// of work, and as uncertain as the others otherwise.
func (s *Snapshot) Record(ctx context.Context, reported ...string) (changed []string, err error) {
	t, err := openTree(s.root)
	if err != nil {
		return nil, err
	}
	defer t.close()
	after, err := s.scan(ctx, t, false)
	if err != nil {
		return nil, err
	}
	partial := s.Partial != ""
	mine := s.l.since(s.began)
	var ds []delta
	var unkept []rawName
	for _, p := range s.union(after) {
		was, now := s.before[p], after[p]
		if _, had := s.before[p]; !had && partial {
			continue // perhaps it was there, and was not looked at
		}
		if now.Type == "" && was.Type != "" { // perhaps it is only ignored now
			if now, err = t.state(p, nil); err != nil {
				continue
			}
		}
		if now.same(was) || s.l.has(p, now) {
			continue
		}
		if between, ok := mine[p]; ok {
			was = between
		}
		ds = append(ds, delta{Path: rawName(p), Before: was, After: now, Uncertain: true, Reported: slices.Contains(reported, p)})
		if s.unkept[p] {
			unkept = append(unkept, rawName(p))
		}
		if was.Type != isDir && now.Type != isDir {
			changed = append(changed, p)
		}
	}
	pair(ds)
	l := s.l
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.active, s.file)
	if len(ds) > 0 {
		if err := l.add(record{Step: l.step, Changes: ds, Unkept: unkept}, true); err != nil {
			return nil, err
		}
	}
	if err := os.Remove(s.file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return changed, fmt.Errorf("closing the record of a command: %w", err)
	}
	return changed, nil
}

// since is how the paths were left that other steps changed after an entry:
// what a command in the background changes later builds on that.
func (b *book) since(began int) map[string]state {
	b.mu.Lock()
	defer b.mu.Unlock()
	left := map[string]state{}
	for _, e := range b.log[min(began, len(b.log)):] {
		left[string(e.Path)] = e.After
	}
	return left
}

// has reports whether the ledger knows already that p is like this.
func (b *book) has(p string, now state) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	d, ok := b.last[p]
	return ok && d.After.same(now)
}

func (s *Snapshot) union(after map[string]state) []string {
	all := maps.Clone(s.before)
	maps.Copy(all, after)
	return slices.Sorted(maps.Keys(all))
}

// pair finds what a command renamed: content that went from one name to another.
func pair(ds []delta) {
	gone := map[string]rawName{}
	for _, d := range ds {
		if d.After.Type == "" && d.Before.Type == isFile && d.Before.Size > 0 {
			gone[d.Before.Digest] = d.Path
		}
	}
	for i, d := range ds {
		if d.Before.Type == "" && d.After.Type == isFile {
			if from, ok := gone[d.After.Digest]; ok && !strings.HasPrefix(string(d.Path), string(from)+"/") {
				ds[i].From = from
				delete(gone, d.After.Digest)
			}
		}
	}
}
