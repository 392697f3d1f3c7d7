package rootfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	_ "github.com/adroit-run/adroit/internal/system/unixonly"
)

// The functions of this file are for trees that other processes change while we work in them. Each
// takes an open directory and one name in it, and none follows a link: a name is resolved once,
// when it is opened. Larger operations are made of these. internal/dev/lint/vet refuses the
// underlying system calls below internal/work, and these functions refuse a path.

// An ID identifies a file or directory independently of its name, for as long as somebody keeps it
// open.
type ID struct {
	Dev uint64 `json:"dev"`
	Ino uint64 `json:"ino"`
}

// ErrPath is returned for a name that is not a single name.
var ErrPath = fmt.Errorf("it is not one name in a directory: %w", unix.EINVAL)

// ErrAnother means that a name now belongs to another file.
var ErrAnother = errors.New("it was replaced by something else")

func oneName(names ...string) error {
	for _, n := range names {
		if n == "" || n == ".." || strings.Contains(n, "/") {
			return ErrPath
		}
	}
	return nil
}

// StatAt describes the file of a name in a directory, without following a link.
func StatAt(dir int, name string) (unix.Stat_t, error) {
	var st unix.Stat_t
	err := oneName(name)
	if err == nil {
		err = unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	}
	return st, err
}

// UnlinkAt removes one name, flags being 0 or AT_REMOVEDIR.
func UnlinkAt(dir int, name string, flags int) error {
	if err := oneName(name); err != nil {
		return err
	}
	return unix.Unlinkat(dir, name, flags)
}

func MkdirAt(dir int, name string, mode uint32) error {
	if err := oneName(name); err != nil {
		return err
	}
	return unix.Mkdirat(dir, name, mode)
}

func SymlinkAt(target string, dir int, name string) error {
	if err := oneName(name); err != nil {
		return err
	}
	return unix.Symlinkat(target, dir, name)
}

func FileID(st *unix.Stat_t) ID { return ID{Dev: uint64(st.Dev), Ino: st.Ino} }

// TypeOf returns the file type in a mode, such as S_IFDIR.
func TypeOf(st *unix.Stat_t) uint32 { return uint32(st.Mode) & unix.S_IFMT }

// FileMode returns the type and the permissions in a mode.
func FileMode(st *unix.Stat_t) fs.FileMode {
	m := fs.FileMode(st.Mode & 0o777)
	switch TypeOf(st) {
	case unix.S_IFREG:
	case unix.S_IFDIR:
		m |= fs.ModeDir
	case unix.S_IFLNK:
		m |= fs.ModeSymlink
	default:
		m |= fs.ModeIrregular
	}
	return m
}

func OpenAt(dir int, name string, flags int, mode uint32) (int, error) {
	if err := oneName(name); err != nil {
		return -1, err
	}
	for {
		fd, err := unix.Openat(dir, name, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, mode)
		if !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}

// OpenDirAt opens a directory for its place.
func OpenDirAt(dir int, name string) (int, error) {
	return OpenAt(dir, name, PathOnly|unix.O_DIRECTORY, 0)
}

// OpenBeneath opens a directory by its clean name relative to an open one.
func OpenBeneath(root int, rel string) (int, error) {
	fd, err := OpenDirAt(root, ".")
	for part := range strings.SplitSeq(rel, "/") {
		if err != nil || part == "." {
			return fd, err
		}
		up := fd
		if part == ".." || part == "" {
			fd, err = -1, unix.EINVAL
		} else {
			fd, err = OpenDirAt(up, part)
		}
		unix.Close(up)
	}
	return fd, err
}

// openParts is OpenNoLinks, one part at a time.
func openParts(root int, rel string, flags int) (int, error) {
	dir, base, err := OpenParent(root, rel)
	if err != nil {
		return -1, err
	}
	defer unix.Close(dir)
	return OpenAt(dir, base, flags, 0)
}

// OpenParent opens the directory that a name is in.
func OpenParent(root int, rel string) (fd int, base string, err error) {
	fd, err = OpenBeneath(root, path.Dir(rel))
	return fd, path.Base(rel), err
}

// SameDir reports whether an open directory is the one of an ID.
func SameDir(fd int, id ID) bool {
	var st unix.Stat_t
	return unix.Fstat(fd, &st) == nil && FileID(&st) == id
}

// ListAt lists an open directory.
func ListAt(dir int) ([]fs.DirEntry, error) {
	fd, err := OpenAt(dir, ".", unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	f := OpenedDir(fd)
	defer f.Close()
	return f.ReadDir(-1) // in part, if that is what can be read
}

// OpenedDir returns an open directory as a file. Where a file system does not report the types of
// entries, os looks up each below the directory's name: this one leads to the open directory.
func OpenedDir(fd int) *os.File { return os.NewFile(uintptr(fd), fmt.Sprintf("/proc/self/fd/%d", fd)) }

var errNotRegular = errors.New("it is not a regular file")

// regularAt opens a regular file for reading.
func regularAt(dir int, name string) (*os.File, fs.FileInfo, error) {
	fd, err := OpenAt(dir, name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, err
	}
	f := os.NewFile(uintptr(fd), name)
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errNotRegular
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// ReadAt reads a regular file of at most limit bytes.
func ReadAt(dir int, name string, limit int64) ([]byte, error) {
	f, info, err := regularAt(dir, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(b)) > limit {
		err = &TooLargeError{Name: name, Size: max(info.Size(), int64(len(b))), Limit: limit}
	}
	return b, err
}

// CreateAt makes a new file.
func CreateAt(dir int, name string, from io.Reader, mode fs.FileMode) error {
	fd, err := OpenAt(dir, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL, uint32(mode.Perm()))
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), name)
	_, err = io.Copy(f, from)
	return errors.Join(err, f.Close())
}

// LinkAt returns the target of a link.
func LinkAt(dir int, name string) (string, error) {
	if err := oneName(name); err != nil {
		return "", err
	}
	buf := make([]byte, MaxName+1)
	n, err := unix.Readlinkat(dir, name, buf)
	if err != nil {
		return "", err
	}
	return string(buf[:n]), nil
}

// RemoveAt removes a file or a tree.
func RemoveAt(dir int, name string) error {
	err := UnlinkAt(dir, name, 0)
	if err == nil || errors.Is(err, unix.ENOENT) {
		return nil
	}
	fd, oerr := OpenDirAt(dir, name)
	if oerr != nil {
		return err // what unlink had to say of what is no directory
	}
	defer unix.Close(fd)
	entries, err := ListAt(fd)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := RemoveAt(fd, e.Name()); err != nil {
			return err
		}
	}
	return UnlinkAt(dir, name, unix.AT_REMOVEDIR)
}

// copyAt copies a file, a link or a tree of them. Pipes, sockets and devices are
// left out.
func copyAt(dir int, name string, toDir int, to string) error {
	st, err := StatAt(dir, name)
	if err != nil {
		return err
	}
	switch TypeOf(&st) {
	case unix.S_IFLNK:
		target, err := LinkAt(dir, name)
		if err != nil {
			return err
		}
		return SymlinkAt(target, toDir, to)
	case unix.S_IFREG:
		f, _, err := regularAt(dir, name)
		if err != nil {
			return err
		}
		defer f.Close()
		return CreateAt(toDir, to, f, 0o600)
	case unix.S_IFDIR:
		if err := MkdirAt(toDir, to, 0o700); err != nil {
			return err
		}
		from, err := OpenDirAt(dir, name)
		if err != nil {
			return err
		}
		defer unix.Close(from)
		into, err := OpenDirAt(toDir, to)
		if err != nil {
			return err
		}
		defer unix.Close(into)
		entries, err := ListAt(from)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if err := copyAt(from, e.Name(), into, e.Name()); err != nil {
				return err
			}
		}
	}
	return nil
}

// MoveAt moves the file of a name into another directory, even if that is on another file system,
// and even if the file's creator removed the permission to write.
func MoveAt(dir int, name string, toDir int, to string) error {
	if err := oneName(name, to); err != nil {
		return err
	}
	err := unix.Renameat(dir, name, toDir, to)
	if errors.Is(err, unix.EACCES) {
		defer writable(dir, ".")()
		defer writable(dir, name)()
		err = unix.Renameat(dir, name, toDir, to)
	}
	if !errors.Is(err, unix.EXDEV) {
		return err
	}
	if err := copyAt(dir, name, toDir, to); err != nil {
		_ = RemoveAt(toDir, to) // half a copy is none; the original is still there
		return err
	}
	return RemoveAt(dir, name)
}

// writable gives the owner of a directory, us, all rights to it until the function
// that it returns is called. For anything else it does nothing.
func writable(dir int, name string) (undo func()) {
	fd, err := OpenDirAt(dir, name)
	if err != nil {
		return func() {}
	}
	var st unix.Stat_t
	if err = unix.Fstat(fd, &st); err == nil {
		err = ChmodFile(fd, uint32(st.Mode)&0o7777|0o700)
	}
	return func() {
		if err == nil {
			_ = ChmodFile(fd, uint32(st.Mode)&0o7777)
		}
		unix.Close(fd)
	}
}

// ChmodFile changes the mode of a directory that may be open for its place only.
func ChmodFile(fd int, mode uint32) error {
	if err := unix.Fchmod(fd, mode); !errors.Is(err, unix.EBADF) {
		return err
	}
	return unix.Chmod(fmt.Sprintf("/proc/self/fd/%d", fd), mode)
}

// MaxModule bounds the slashes in the name of a submodule.
const MaxModule = 64

// EachModule calls visit for the git directories of submodules inside of a git directory, by their
// names there.
func EachModule(git int, visit func(fd int, at string)) {
	if modules, err := OpenDirAt(git, "modules"); err == nil {
		eachModule(modules, "modules", visit)
		unix.Close(modules)
	}
}

func eachModule(up int, rel string, visit func(fd int, at string)) {
	EachDir(up, ".", func(fd int, name string) {
		if at := path.Join(rel, name); IsGitDir(fd) {
			visit(fd, at)
		} else if strings.Count(at, "/") <= MaxModule {
			eachModule(fd, at, visit)
		}
	})
}

// EachDir calls visit for the directories of a directory.
func EachDir(up int, name string, visit func(fd int, name string)) {
	dir, err := OpenDirAt(up, name)
	if err != nil {
		return
	}
	defer unix.Close(dir)
	entries, _ := ListAt(dir) // in part, if that is what can be read
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		if fd, err := OpenDirAt(dir, e.Name()); err == nil {
			visit(fd, e.Name())
			unix.Close(fd)
		}
	}
}
