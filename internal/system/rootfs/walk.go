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
}

func (e *Entry) Name() string      { return e.name }
func (e *Entry) IsDir() bool       { return e.mode.IsDir() }
func (e *Entry) Type() fs.FileMode { return e.mode }

// WalkDir calls fn for dir and everything below it, as [fs.WalkDir] does and with its
// errors; the entry is nil if dir itself cannot be looked at. Each directory is opened from
// the one above, so no link is followed. Types come from the directory's own list, where
// [os.Root.FS] looks at every entry, and a directory that has not changed since this process
// listed it is not listed again.
func WalkDir(root *os.Root, dir string, fn func(p string, e *Entry, err error) error) error {
	err := walkFrom(root, dir, fn)
	if err == fs.SkipDir || err == fs.SkipAll {
		return nil
	}
	return err
}

func walkFrom(root *os.Root, dir string, fn func(p string, e *Entry, err error) error) error {
	info, err := root.Lstat(dir)
	if err != nil {
		return fn(dir, nil, err)
	}
	self, err := root.Open(".")
	if err != nil {
		return fn(dir, nil, err)
	}
	defer self.Close()
	w := walker{fn: fn, disk: -1}
	var st unix.Stat_t
	fd := int(self.Fd())
	if notesChanges(fd) && unix.Fstat(fd, &st) == nil {
		w.disk = int64(st.Dev)
	}
	return w.visit(&Entry{dir, path.Base(dir), info.Mode().Type()}, func(*Entry) (int, error) {
		return OpenNoLinks(fd, dir, unix.O_RDONLY|unix.O_DIRECTORY)
	})
}

type walker struct {
	fn   func(p string, e *Entry, err error) error
	disk int64 // the device whose directories' lists are kept, -1 for none
}

// visit calls fn for an entry and, if that is a directory, for what it contains.
func (w walker) visit(e *Entry, open func(*Entry) (int, error)) error {
	err := w.fn(e.path, e, nil)
	if err == fs.SkipDir && e.IsDir() {
		return nil
	}
	if err != nil || !e.IsDir() {
		return err
	}
	var entries []Entry
	fd, err := open(e)
	if err == nil {
		d := OpenedDir(fd)
		defer d.Close()
		entries, err = w.list(d, fd, e.path)
	}
	if err != nil {
		if err = w.fn(e.path, e, err); err == fs.SkipDir {
			return nil
		} else if err != nil {
			return err
		}
	}
	below := func(e *Entry) (int, error) { return OpenAt(fd, e.name, unix.O_RDONLY|unix.O_DIRECTORY, 0) }
	for i := range entries {
		err := w.visit(&entries[i], below)
		if err == fs.SkipDir {
			break
		}
		if err != nil {
			return err
		}
	}
	return nil
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

// list reads an open directory, in the order of names; in part, with the error, if that
// is what can be read.
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
		entries[i] = Entry{p, p[len(prefix):], e.Type()}
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
