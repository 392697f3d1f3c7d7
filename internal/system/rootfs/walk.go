package rootfs

import (
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// An Entry is a name that WalkDir found. It is only valid while fn runs.
type Entry struct {
	path, name string
	mode       fs.FileMode // its type
	dir        *openDir    // while fn runs for a directory
}

func (e *Entry) Name() string      { return e.name }
func (e *Entry) IsDir() bool       { return e.mode.IsDir() }
func (e *Entry) Type() fs.FileMode { return e.mode }

// Has reports whether a directory has an entry of that name; if it cannot be read, not.
func (e *Entry) Has(name string) bool {
	if e.dir == nil {
		return false
	}
	e.dir.load()
	_, found := slices.BinarySearchFunc(e.dir.entries, name, func(e Entry, name string) int { return strings.Compare(e.name, name) })
	return found
}

// WalkDir calls fn for dir and everything below it, as [fs.WalkDir] does and with its
// errors; the entry is nil if dir itself cannot be looked at. Each directory is opened from
// the one above, so no link is followed. Types come from the directory's own list, where
// [os.Root.FS] looks at every entry, and a directory that has not changed since this process
// listed it is not listed again.
func WalkDir(root *os.Root, dir string, fn func(p string, e *Entry, err error) error) error {
	return (*Seen)(nil).WalkDir(root, dir, fn)
}

// Seen has the directories that walks listed, as they were. The zero value has none.
type Seen struct {
	dirs   []seenDir
	unsure bool // a directory was listed that may have changed without a new stamp
}

type seenDir struct {
	path  string
	stamp DirStamp
}

// WalkDir is [WalkDir]; it notes what it lists.
func (s *Seen) WalkDir(root *os.Root, dir string, fn func(p string, e *Entry, err error) error) error {
	err := s.walkFrom(root, dir, fn)
	if err == fs.SkipDir || err == fs.SkipAll {
		return nil
	}
	return err
}

func (s *Seen) walkFrom(root *os.Root, dir string, fn func(p string, e *Entry, err error) error) error {
	info, err := root.Lstat(dir)
	if err != nil {
		return fn(dir, nil, err)
	}
	self, err := root.Open(".")
	if err != nil {
		return fn(dir, nil, err)
	}
	defer self.Close()
	w := walker{fn: fn, disk: -1, seen: s}
	var st unix.Stat_t
	fd := int(self.Fd())
	if notesChanges(fd) && unix.Fstat(fd, &st) == nil {
		w.disk = int64(st.Dev)
	}
	return w.visit(&Entry{path: dir, name: path.Base(dir), mode: info.Mode().Type()}, func(*Entry) (int, error) {
		return OpenNoLinks(fd, dir, unix.O_RDONLY|unix.O_DIRECTORY)
	})
}

type walker struct {
	fn   func(p string, e *Entry, err error) error
	disk int64 // the device whose directories' lists are kept, -1 for none
	seen *Seen // nil: nobody asks
}

// visit calls fn for an entry and, if that is a directory, for what it contains.
func (w walker) visit(e *Entry, open func(*Entry) (int, error)) error {
	if !e.IsDir() {
		return w.fn(e.path, e, nil)
	}
	in := &openDir{Entry: *e, w: w, open: open, fd: -1}
	defer in.close()
	in.dir = in // e belongs to the list that all walks share
	e = &in.Entry
	if err := w.fn(e.path, e, nil); err == fs.SkipDir {
		return nil
	} else if err != nil {
		return err
	}
	if in.load(); in.err != nil {
		if err := w.fn(e.path, e, in.err); err == fs.SkipDir {
			return nil
		} else if err != nil {
			return err
		}
	}
	below := func(e *Entry) (int, error) { return OpenAt(in.fd, e.name, unix.O_RDONLY|unix.O_DIRECTORY, 0) }
	for i := range in.entries {
		err := w.visit(&in.entries[i], below)
		if err == fs.SkipDir {
			break
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// An openDir is open for as long as what it contains is visited.
type openDir struct {
	Entry
	w       walker
	open    func(*Entry) (int, error)
	fd      int      // -1: not open
	file    *os.File // has fd
	done    bool
	entries []Entry
	err     error
}

func (l *openDir) load() {
	if l.done {
		return
	}
	l.done = true
	if l.fd, l.err = l.open(&l.Entry); l.err == nil {
		l.file = OpenedDir(l.fd)
		l.entries, l.err = l.w.list(l.file, l.fd, l.path)
	}
	if l.err != nil && l.w.seen != nil {
		l.w.seen.unsure = true
	}
}

func (l *openDir) close() {
	if l.file != nil {
		_ = l.file.Close() // it was only read
	}
}

// lists has the directories that this process has listed.
var lists struct {
	sync.Mutex
	dirs    map[ID]dirList
	entries int
}

type dirList struct {
	stamp   DirStamp
	path    string // by which it was listed
	entries []Entry
}

// maxListed bounds the entries of all lists that are kept: some 20 MB.
const maxListed = 200_000

// list reads an open directory, in the order of names; in part, with the error, if only
// that can be read.
func (w walker) list(d *os.File, fd int, at string) ([]Entry, error) {
	began := time.Now()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, err
	}
	id, stamp, keeps := FileID(&st), StampOf(&st), int64(st.Dev) == w.disk
	lists.Lock()
	known, ok := lists.dirs[id]
	lists.Unlock()
	if w.seen != nil {
		w.seen.dirs = append(w.seen.dirs, seenDir{at, stamp})
		w.seen.unsure = w.seen.unsure || !keeps || !stamp.Settled(began)
	}
	if keeps && ok && known.stamp == stamp && known.path == at {
		return known.entries, nil
	}
	read, err := d.ReadDir(-1)
	prefix := at + "/"
	if at == "." {
		prefix = ""
	}
	entries := make([]Entry, len(read))
	for i, e := range read {
		p := prefix + e.Name()
		entries[i] = Entry{path: p, name: p[len(prefix):], mode: e.Type()}
	}
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.name, b.name) })
	if err == nil && keeps && stamp.Settled(began) {
		lists.Lock()
		defer lists.Unlock()
		if lists.entries += len(entries) - len(known.entries); lists.dirs == nil || lists.entries > maxListed {
			lists.dirs, lists.entries = map[ID]dirList{}, len(entries)
		}
		lists.dirs[id] = dirList{stamp, at, entries}
	}
	return entries, err
}

// A DirStamp changes whenever an entry of the directory does.
type DirStamp struct {
	ID      ID
	changed int64 // 0 if the system does not say
}

func StampOf(st *unix.Stat_t) DirStamp { return DirStamp{FileID(st), ChangeTime(st)} }

// Settled reports whether every change after a moment changes the stamp, which was taken
// after it: clocks of file systems tick slowly.
func (s DirStamp) Settled(at time.Time) bool {
	return s.changed != 0 && at.Sub(time.Unix(0, s.changed)) >= ClockGranularity
}

// holds reports whether all that was listed is still as it was.
func (s *Seen) holds(root *os.Root) bool {
	if s.unsure {
		return false
	}
	self, err := root.Open(".")
	if err != nil {
		return false
	}
	defer self.Close()
	fd := int(self.Fd())
	for _, d := range s.dirs { // from the top down: if none before it has become a link, the path has none
		var st unix.Stat_t
		if unix.Fstatat(fd, d.path, &st, unix.AT_SYMLINK_NOFOLLOW) != nil || StampOf(&st) != d.stamp {
			return false
		}
	}
	return true
}

// Walks keeps what walks have found, each until a directory that it listed changes. It is safe
// for concurrent use, and so has to be what is kept.
type Walks[T any] struct {
	mu    sync.Mutex
	found map[string]walked[T]
}

type walked[T any] struct {
	seen  Seen
	found T
}

// maxWalks bounds how many walks are kept, of different directories.
const maxWalks = 100

// Find returns what walk finds below root, the directory at a path; from memory if a walk now
// would list what the last one did. walk may go by names and types alone.
func (w *Walks[T]) Find(root *os.Root, at string, walk func(s *Seen) (T, error)) (T, error) {
	w.mu.Lock()
	known, ok := w.found[at]
	w.mu.Unlock()
	if ok && known.seen.holds(root) {
		return known.found, nil
	}
	var now walked[T]
	var err error
	if now.found, err = walk(&now.seen); err != nil || now.seen.unsure {
		return now.found, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.found == nil || len(w.found) >= maxWalks {
		w.found = map[string]walked[T]{}
	}
	w.found[at] = now
	return now.found, nil
}
