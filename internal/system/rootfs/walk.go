package rootfs

import (
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// WalkDir calls fn for dir and everything below it, as [fs.WalkDir] does and with its
// errors. Each directory is opened from the one above, so no link is followed. Types come
// from the directory's own list, where [os.Root.FS] looks at every entry, and a directory
// that has not changed since this process listed it is not listed again.
func WalkDir(root *os.Root, dir string, fn fs.WalkDirFunc) error {
	info, err := root.Lstat(dir)
	switch {
	case err != nil:
		err = fn(dir, nil, err)
	case !info.IsDir():
		err = fn(dir, fs.FileInfoToDirEntry(info), nil)
	default:
		err = walkFrom(root, dir, fs.FileInfoToDirEntry(info), fn)
	}
	if err == fs.SkipDir || err == fs.SkipAll {
		return nil
	}
	return err
}

func walkFrom(root *os.Root, dir string, e fs.DirEntry, fn fs.WalkDirFunc) error {
	self, err := root.Open(".")
	if err != nil {
		return fn(dir, nil, err)
	}
	defer self.Close()
	w := walker{root: root, fn: fn, disk: -1}
	var st unix.Stat_t
	if fd := int(self.Fd()); notesChanges(fd) && unix.Fstat(fd, &st) == nil {
		w.disk = int64(st.Dev)
	}
	return w.visit(dir, e, func() (int, error) {
		return OpenNoLinks(int(self.Fd()), dir, unix.O_RDONLY|unix.O_DIRECTORY)
	})
}

// A walker walks below clean names only, which are not cleaned again.
type walker struct {
	root *os.Root
	fn   fs.WalkDirFunc
	disk int64 // the device whose directories' lists are kept, -1 for none
}

// visit calls fn for p and, if that is a directory, for what it contains.
func (w walker) visit(p string, e fs.DirEntry, open func() (int, error)) error {
	err := w.fn(p, e, nil)
	if err == fs.SkipDir && e.IsDir() {
		return nil
	}
	if err != nil || !e.IsDir() {
		return err
	}
	var entries []dirEntry
	fd, err := open()
	if err == nil {
		d := OpenedDir(fd)
		defer d.Close()
		entries, err = w.list(d, fd)
	}
	if err != nil {
		if err = w.fn(p, e, err); err == fs.SkipDir {
			return nil
		} else if err != nil {
			return err
		}
	}
	for _, l := range entries {
		name := l.name
		if p != "." {
			name = p + "/" + name
		}
		err := w.visit(name, entry{l, w.root, name}, func() (int, error) {
			return OpenAt(fd, l.name, unix.O_RDONLY|unix.O_DIRECTORY, 0)
		})
		if err == fs.SkipDir {
			break
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// A dirEntry is an entry of a directory's list.
type dirEntry struct {
	name string
	mode fs.FileMode // its type
}

// lists has the directories that this process has listed.
var lists struct {
	sync.Mutex
	dirs    map[ID]dirList
	entries int
}

type dirList struct {
	stamp   DirStamp
	entries []dirEntry
}

// maxListed bounds the entries of all lists that are kept: some 20 MB.
const maxListed = 200_000

// list reads an open directory, in the order of names; in part, with the error, if that
// is what can be read.
func (w walker) list(d *os.File, fd int) ([]dirEntry, error) {
	began := time.Now()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, err
	}
	id, stamp, keeps := FileID(&st), StampOf(&st), int64(st.Dev) == w.disk
	lists.Lock()
	known, ok := lists.dirs[id]
	lists.Unlock()
	if keeps && ok && known.stamp == stamp {
		return known.entries, nil
	}
	read, err := d.ReadDir(-1)
	entries := make([]dirEntry, len(read))
	for i, e := range read {
		entries[i] = dirEntry{e.Name(), e.Type()}
	}
	slices.SortFunc(entries, func(a, b dirEntry) int { return strings.Compare(a.name, b.name) })
	if err == nil && keeps && stamp.Settled(began) {
		lists.Lock()
		defer lists.Unlock()
		if lists.entries += len(entries) - len(known.entries); lists.dirs == nil || lists.entries > maxListed {
			lists.dirs, lists.entries = map[ID]dirList{}, len(entries)
		}
		lists.dirs[id] = dirList{stamp, entries}
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

// An entry asks the root for what the directory's list does not say.
type entry struct {
	dirEntry
	root *os.Root
	path string
}

func (e entry) Name() string               { return e.name }
func (e entry) IsDir() bool                { return e.mode.IsDir() }
func (e entry) Type() fs.FileMode          { return e.mode }
func (e entry) Info() (fs.FileInfo, error) { return e.root.Lstat(e.path) }
func (e entry) String() string             { return fs.FormatDirEntry(e) }
