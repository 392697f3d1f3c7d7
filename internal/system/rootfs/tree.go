// Package rootfs works on files below a directory that others may change at the same time:
// each step is taken by a descriptor or one name at a time, and no link leads out. It also
// knows which files are git's, keys or the tool's own, and which no tool may touch.
package rootfs

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// A Tree is a directory whose names cannot lead out of it. Its methods take
// resolved names: clean, relative, without links.
type Tree struct {
	Root  *os.Root
	Self  *os.File // the directory itself, for the lock
	Dir   string   // absolute, links followed
	given string   // absolute, as the caller wrote it
	names lister   // nil unless ListOnce was called
}

// A lister lists the files of a tree, and reports whether there are more.
type lister func(context.Context) (names []string, more bool, err error)

func Open(dir string) (*Tree, error) {
	given, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("opening the workspace: %w", err)
	}
	real, err := filepath.EvalSymlinks(given)
	if errors.Is(err, fs.ErrNotExist) {
		err = missing{err}
	}
	if err != nil {
		return nil, fmt.Errorf("opening the workspace: %w", err)
	}
	root, err := os.OpenRoot(real)
	if err != nil {
		return nil, fmt.Errorf("opening the workspace: %w", err)
	}
	self, err := root.Open(".")
	if err != nil {
		root.Close()
		return nil, fmt.Errorf("opening the workspace: %w", err)
	}
	return &Tree{Root: root, Self: self, Dir: filepath.ToSlash(real), given: filepath.ToSlash(given)}, nil
}

// missing is the error of a directory that is not there.
type missing struct{ error }

func (m missing) Unwrap() error { return m.error }

// Hint returns advice for the user.
func (missing) Hint() string {
	return "if it was moved, move it back, or put a symbolic link to it in its old place"
}

// FD returns the open directory, valid as long as the tree is open.
func (t *Tree) FD() int { return int(t.Self.Fd()) }

func (t *Tree) Close() error { return errors.Join(t.Self.Close(), t.Root.Close()) }

// Lock keeps every other adroit process, and every other tree of this one, from
// changing files of the same directory until unlock is called. It leaves no
// trace in the directory. File systems without locks go without.
func (t *Tree) Lock() (unlock func()) {
	fd := int(t.Self.Fd())
	for unix.Flock(fd, unix.LOCK_EX) == unix.EINTR {
	}
	return func() { _ = unix.Flock(fd, unix.LOCK_UN) }
}

// Open opens a regular file for reading and never waits: a FIFO, a device, a
// socket and a directory are errors.
func (t *Tree) Open(name, p string) (*os.File, fs.FileInfo, error) {
	info, err := t.Root.Lstat(p)
	if err == nil {
		err = regular(name, info)
	}
	if err != nil {
		return nil, nil, t.Explain(name, err)
	}
	f, err := t.Root.OpenFile(p, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, t.Explain(name, err)
	}
	info, err = f.Stat() // what was opened may not be what was looked at
	if err == nil {
		err = regular(name, info)
	}
	if err == nil {
		err = t.hardLink(name, p, info)
	}
	if err != nil {
		f.Close()
		return nil, nil, t.Explain(name, err)
	}
	return f, info, nil
}

// Read reads up to limit bytes of a regular file into buf, which grows as needed, with few system
// calls: it is for reading many files. It reports false for a name with links, a hard link and an
// unreadable file: Open explains those.
func (t *Tree) Read(p string, buf []byte, limit int64) ([]byte, bool) {
	plain := func(st *unix.Stat_t) bool { return TypeOf(st) == unix.S_IFREG && st.Nlink == 1 }
	if st, err := t.Stat(p); err != nil || !plain(&st) {
		return nil, false // opening a pipe or a device has effects
	}
	fd, err := OpenNoLinks(t.FD(), p, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY)
	if err != nil {
		return nil, false
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || !plain(&st) {
		return nil, false // it is no longer what was looked at
	}
	buf = slices.Grow(buf[:0], int(min(st.Size+1, limit)))
	for int64(len(buf)) < limit {
		buf = slices.Grow(buf, 1)
		n, err := unix.Read(fd, buf[len(buf):min(int64(cap(buf)), limit)])
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return nil, false
		}
		buf = buf[:len(buf)+n]
		if n == 0 || len(buf) < cap(buf) { // a regular file gives all it has
			break
		}
	}
	return buf, true
}

func regular(name string, info fs.FileInfo) error {
	kind := ""
	switch m := info.Mode(); {
	case m.IsRegular():
		return nil
	case m.IsDir():
		kind = "is a directory; name a file"
	case m&fs.ModeSymlink != 0:
		kind = "became a symbolic link while it was being used"
	case m&fs.ModeNamedPipe != 0:
		kind = "is a named pipe, not a file"
	case m&fs.ModeSocket != 0:
		kind = "is a socket, not a file"
	default:
		kind = "is a device, not a file"
	}
	return &PathError{Name: name, Reason: kind}
}

// A State is the state of a path at one moment. The zero state means that nothing is there.
type State struct {
	Type   string      `json:"type,omitempty"` // file, dir, link; empty: nothing there
	Mode   fs.FileMode `json:"mode,omitempty"` // permission bits
	Digest string      `json:"digest,omitempty"`
	Size   int64       `json:"size,omitempty"`
}

// A Transition is a planned change of one path: the state that it must have, and its state after
// the change. The content is in the ledger.
type Transition struct {
	Path   RawName `json:"path"`
	Before State   `json:"before,omitzero"`
	After  State   `json:"after,omitzero"`
	Dir    bool    `json:"dir,omitempty"` // one that has become empty
}

const (
	TypeFile = "file"
	TypeDir  = "dir"
	TypeLink = "link"
)

// Equal reports whether two states look alike to a reader.
func (s State) Equal(o State) bool {
	return s.Type == o.Type && s.Mode == o.Mode && s.Digest == o.Digest
}

// State reads the state of p. The content of a file, or the target of a link, is copied to keep if
// that is not nil.
func (t *Tree) State(p string, keep io.Writer) (State, error) {
	info, err := t.Root.Lstat(p)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) {
		return State{}, nil
	}
	if err != nil {
		return State{}, t.Explain(p, err)
	}
	s := State{Mode: info.Mode().Perm(), Size: info.Size()}
	h := sha256.New()
	w := io.Writer(h)
	if keep != nil {
		w = io.MultiWriter(h, keep)
	}
	switch {
	case info.IsDir():
		return State{Type: TypeDir, Mode: s.Mode}, nil
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := t.Root.Readlink(p)
		if err != nil {
			return State{}, t.Explain(p, err)
		}
		s.Type, s.Mode = TypeLink, 0 // a link's own mode means nothing
		if _, err := io.WriteString(w, target); err != nil {
			return State{}, err
		}
	default:
		f, info, err := t.Open(p, p)
		if err != nil {
			return State{}, err
		}
		defer f.Close()
		s.Type, s.Mode = TypeFile, info.Mode().Perm()
		if s.Size, err = io.Copy(w, f); err != nil {
			return State{}, t.Explain(p, err)
		}
	}
	s.Digest = hex.EncodeToString(h.Sum(nil))
	return s, nil
}

func Digest(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

// MissingDirs lists the directories above p that do not exist, outermost first.
func (t *Tree) MissingDirs(p string) ([]string, error) {
	var dirs []string
	for d := path.Dir(p); d != "."; d = path.Dir(d) {
		info, err := t.Root.Lstat(d)
		if err == nil && !info.IsDir() {
			return nil, &PathError{Name: p, Reason: d + " is not a directory"}
		}
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, t.Explain(p, err)
		}
		dirs = append([]string{d}, dirs...)
	}
	return dirs, nil
}

// TempName returns a name beside p for content being written. The fixed prefix makes one that a
// crash left behind recognisable.
func TempName(p string) string {
	return path.Join(path.Dir(p), ".adroit-"+strings.ToLower(rand.Text()[:12])+".tmp")
}

// DefaultMode asks put for the mode of a new file: 0644 less the process's umask.
const DefaultMode = fs.ModeIrregular

// Put gives p new content atomically: a reader of p sees the old content or the new, also after a
// crash. Of the file that was there it keeps the extended attributes, but no setuid bit and the like
// that perm does not have.
func (t *Tree) Put(p, temp string, perm fs.FileMode, content io.Reader) (err error) {
	create := perm
	if perm == DefaultMode {
		create = 0o644
	}
	f, err := t.Root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, create&0o777)
	if err != nil {
		return t.Explain(p, err)
	}
	defer func() {
		if err != nil {
			f.Close()
			_ = t.Root.Remove(temp)
			err = t.Explain(p, err)
		}
	}()
	t.keepAttrs(p, f)
	if perm != DefaultMode { // the umask cut it down; this is a file that has its mode already
		if err := f.Chmod(perm & (fs.ModePerm | SpecialBits)); err != nil {
			return err
		}
	}
	size, err := io.Copy(f, content)
	if err != nil {
		return err
	}
	if err := t.later(p, temp, size); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return t.Rename(temp, p)
}

// SpecialBits are the bits of a mode that are no permissions.
const SpecialBits = fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky

// keepAttrs gives the file that takes the place of p the extended attributes of that.
func (t *Tree) keepAttrs(p string, f *os.File) {
	dir, err := OpenNoLinks(int(t.Self.Fd()), path.Dir(p), PathOnly|unix.O_DIRECTORY)
	if err != nil {
		return // there is none yet
	}
	defer unix.Close(dir)
	if st, err := StatAt(dir, path.Base(p)); err == nil && TypeOf(&st) == unix.S_IFREG {
		kept := AttrsAt(dir, path.Base(p))
		delete(kept, "security.capability") // of the program that it was
		if len(kept) > 0 {
			SetAttrs(int(f.Fd()), kept)
		}
	}
}

// later sets the time of a file that will replace one of the same size to the next second if that
// one is from this second: Python's compiled modules stay in use while size and whole second
// agree.
func (t *Tree) later(p, temp string, size int64) error {
	was, err := t.Root.Lstat(p)
	if err != nil || !was.Mode().IsRegular() || was.Size() != size || was.ModTime().Unix() != time.Now().Unix() {
		return nil // there is none, or any cache sees the change
	}
	return t.Root.Chtimes(temp, time.Time{}, was.ModTime().Add(time.Second))
}

// Rename gives the file of one name another name, durably.
func (t *Tree) Rename(from, to string) error {
	if err := t.Root.Rename(from, to); err != nil {
		return err
	}
	err := t.Sync(path.Dir(to))
	if path.Dir(from) != path.Dir(to) {
		err = errors.Join(err, t.Sync(path.Dir(from)))
	}
	return err
}

// Sync makes the names in a directory durable.
func (t *Tree) Sync(dir string) error {
	d, err := t.Root.Open(dir)
	if err != nil {
		return t.Explain(dir, err)
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, unix.EINVAL) {
		return t.Explain(dir, err)
	}
	return nil
}

// Stat looks at a name without following it. It does not protect from a link
// above the name: see straight.
func (t *Tree) Stat(p string) (st unix.Stat_t, err error) {
	for {
		if err = unix.Fstatat(int(t.Self.Fd()), p, &st, unix.AT_SYMLINK_NOFOLLOW); err != unix.EINTR {
			return st, err
		}
	}
}

// ClockGranularity is the minimum age of a change for a reader to be sure to have seen all of it:
// file systems count time in ticks.
const ClockGranularity = 50 * time.Millisecond

// RemoveAll removes a tree that commands made, such as SandboxOptions.Private, although some of
// its directories may not be writable, such as those of Go's module cache and those in which the
// kernel keeps an overlay's work. It follows no link below dir.
func RemoveAll(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	if fd, err := unix.Open(dir, PathOnly|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0); err == nil {
		unlock(fd)
		unix.Close(fd)
	}
	return os.RemoveAll(dir)
}

// unlock gives us all rights to the directories of a tree.
func unlock(dir int) {
	_ = ChmodFile(dir, 0o700)
	EachDir(dir, ".", func(sub int, _ string) { unlock(sub) })
}

// hardLink refuses a file that is on the list of secrets under another name: a hard link beside it
// or to one at the top of the workspace. A link to a file elsewhere is not found; the content that
// is read of it is still searched for secrets.
func (t *Tree) hardLink(name, p string, info fs.FileInfo) error {
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || st.Nlink < 2 {
		return nil
	}
	dirs := []string{"."}
	if d := path.Dir(p); d != "." {
		dirs = append(dirs, d)
	}
	for _, d := range dirs {
		f, err := t.Root.Open(d)
		if err != nil {
			continue
		}
		names, _ := f.Readdirnames(-1) // those that were read
		f.Close()
		for _, n := range names {
			other := path.Join(d, n)
			if CheckName(other, other, false) == nil {
				continue
			}
			if same, err := t.Root.Lstat(other); err == nil && os.SameFile(same, info) {
				return &PathError{Name: name, Reason: "is another name of " + other + ", which no tool may touch", Advice: "ask the person who runs you"}
			}
		}
	}
	return nil
}

// A RawName survives JSON also where it is not UTF-8.
type RawName string

func (n RawName) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(n)) {
		return json.Marshal(string(n))
	}
	return json.Marshal(map[string]string{"base64": base64.StdEncoding.EncodeToString([]byte(n))})
}

func (n *RawName) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '{' {
		var coded struct{ Base64 []byte }
		err := json.Unmarshal(b, &coded)
		*n = RawName(coded.Base64)
		return err
	}
	return json.Unmarshal(b, (*string)(n))
}
