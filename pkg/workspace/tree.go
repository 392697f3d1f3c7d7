package workspace

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// A tree is a directory whose names cannot lead out of it. Its methods take
// resolved names: clean, relative, without links.
type tree struct {
	root  *os.Root
	self  *os.File // the directory itself, for the lock
	dir   string   // absolute, links followed
	given string   // absolute, as the caller wrote it
}

func openTree(dir string) (*tree, error) {
	given, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("opening the workspace: %w", err)
	}
	real, err := filepath.EvalSymlinks(given)
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
	return &tree{root: root, self: self, dir: filepath.ToSlash(real), given: filepath.ToSlash(given)}, nil
}

// fd is the directory itself, open for as long as the tree is.
func (t *tree) fd() int { return int(t.self.Fd()) }

func (t *tree) close() error { return errors.Join(t.self.Close(), t.root.Close()) }

// lock keeps every other adroit process, and every other tree of this one, from
// changing files of the same directory until unlock is called. It leaves no
// trace in the directory. File systems without locks go without.
func (t *tree) lock() (unlock func()) {
	fd := int(t.self.Fd())
	for unix.Flock(fd, unix.LOCK_EX) == unix.EINTR {
	}
	return func() { _ = unix.Flock(fd, unix.LOCK_UN) }
}

// open opens a regular file for reading and never waits: a FIFO, a device, a
// socket and a directory are errors.
func (t *tree) open(name, p string) (*os.File, fs.FileInfo, error) {
	info, err := t.root.Lstat(p)
	if err == nil {
		err = regular(name, info)
	}
	if err != nil {
		return nil, nil, t.explain(name, err)
	}
	f, err := t.root.OpenFile(p, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, t.explain(name, err)
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
		return nil, nil, t.explain(name, err)
	}
	return f, info, nil
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

// A state is what a name stands for at one moment. The zero state is nothing.
type state struct {
	Type   string      `json:"type,omitempty"` // file, dir, link; empty: nothing there
	Mode   fs.FileMode `json:"mode,omitempty"` // permission bits
	Digest string      `json:"digest,omitempty"`
	Size   int64       `json:"size,omitempty"`
}

const (
	isFile = "file"
	isDir  = "dir"
	isLink = "link"
)

// same reports whether two states look alike to a reader.
func (s state) same(o state) bool {
	return s.Type == o.Type && s.Mode == o.Mode && s.Digest == o.Digest
}

// state reads what is at p. The content of a file, or the target of a link, is
// copied to keep if that is not nil.
func (t *tree) state(p string, keep io.Writer) (state, error) {
	info, err := t.root.Lstat(p)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) {
		return state{}, nil
	}
	if err != nil {
		return state{}, t.explain(p, err)
	}
	s := state{Mode: info.Mode().Perm(), Size: info.Size()}
	h := sha256.New()
	w := io.Writer(h)
	if keep != nil {
		w = io.MultiWriter(h, keep)
	}
	switch {
	case info.IsDir():
		return state{Type: isDir, Mode: s.Mode}, nil
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := t.root.Readlink(p)
		if err != nil {
			return state{}, t.explain(p, err)
		}
		s.Type, s.Mode = isLink, 0 // a link's own mode means nothing
		if _, err := io.WriteString(w, target); err != nil {
			return state{}, err
		}
	default:
		f, info, err := t.open(p, p)
		if err != nil {
			return state{}, err
		}
		defer f.Close()
		s.Type, s.Mode = isFile, info.Mode().Perm()
		if s.Size, err = io.Copy(w, f); err != nil {
			return state{}, t.explain(p, err)
		}
	}
	s.Digest = hex.EncodeToString(h.Sum(nil))
	return s, nil
}

func digest(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

// missing lists the directories above p that do not exist, outermost first.
func (t *tree) missing(p string) ([]string, error) {
	var dirs []string
	for d := path.Dir(p); d != "."; d = path.Dir(d) {
		info, err := t.root.Lstat(d)
		if err == nil && !info.IsDir() {
			return nil, &PathError{Name: p, Reason: d + " is not a directory"}
		}
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, t.explain(p, err)
		}
		dirs = append([]string{d}, dirs...)
	}
	return dirs, nil
}

// tempName is a name beside p for content on its way. The fixed prefix makes
// one that a crash left behind recognisable.
func tempName(p string) string {
	return path.Join(path.Dir(p), ".adroit-"+strings.ToLower(rand.Text()[:12])+".tmp")
}

// newMode asks put for the mode of a new file: 0644 less the process's umask.
const newMode = fs.ModeIrregular

// put gives p new content in one step: whoever reads p sees the old content or
// the new, also after a crash. Setuid and the like are never kept.
func (t *tree) put(p, temp string, perm fs.FileMode, content io.Reader) (err error) {
	create := perm
	if perm == newMode {
		create = 0o644
	}
	f, err := t.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, create&0o777)
	if err != nil {
		return t.explain(p, err)
	}
	defer func() {
		if err != nil {
			f.Close()
			_ = t.root.Remove(temp)
			err = t.explain(p, err)
		}
	}()
	if perm != newMode { // the umask cut it down; this is a file that has its mode already
		if err := f.Chmod(perm & 0o777); err != nil {
			return err
		}
	}
	if _, err := io.Copy(f, content); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := t.root.Rename(temp, p); err != nil {
		return err
	}
	return t.sync(path.Dir(p))
}

// sync makes the names in a directory durable.
func (t *tree) sync(dir string) error {
	d, err := t.root.Open(dir)
	if err != nil {
		return t.explain(dir, err)
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, unix.EINVAL) {
		return t.explain(dir, err)
	}
	return nil
}
