package workspace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/adroit-run/adroit/pkg/workspace/sandbox"
)

// The functions of this file are for trees that other processes change while we
// work in them. Each takes an open directory and one name in it, and none follows
// a link: what a name leads to is decided once, when it is opened. Larger steps
// are made of these.

// statAt is what a name in a directory stands for, a link for itself.
func statAt(dir int, name string) (unix.Stat_t, error) {
	var st unix.Stat_t
	err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	return st, err
}

func fileID(st *unix.Stat_t) sandbox.ID { return sandbox.ID{Dev: uint64(st.Dev), Ino: st.Ino} }

// typeOf is the type in a mode, S_IFDIR and its like.
func typeOf(st *unix.Stat_t) uint32 { return uint32(st.Mode) & unix.S_IFMT }

func openAt(dir int, name string, flags int, mode uint32) (int, error) {
	for {
		fd, err := unix.Openat(dir, name, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, mode)
		if !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}

// openDirAt opens a directory for its place.
func openDirAt(dir int, name string) (int, error) {
	return openAt(dir, name, placeOnly|unix.O_DIRECTORY, 0)
}

// openBeneath opens a directory by its clean name relative to an open one.
func openBeneath(root int, rel string) (int, error) {
	fd, err := openDirAt(root, ".")
	for part := range strings.SplitSeq(rel, "/") {
		if err != nil || part == "." {
			return fd, err
		}
		up := fd
		if part == ".." || part == "" {
			fd, err = -1, unix.EINVAL
		} else {
			fd, err = openDirAt(up, part)
		}
		unix.Close(up)
	}
	return fd, err
}

// openParent opens the directory that a name is in.
func openParent(root int, rel string) (fd int, base string, err error) {
	fd, err = openBeneath(root, path.Dir(rel))
	return fd, path.Base(rel), err
}

// sameDir reports whether an open directory is the one of an ID.
func sameDir(fd int, id sandbox.ID) bool {
	var st unix.Stat_t
	return unix.Fstat(fd, &st) == nil && fileID(&st) == id
}

// listAt lists an open directory.
func listAt(dir int) ([]fs.DirEntry, error) {
	fd, err := openAt(dir, ".", unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	f := openedDir(fd)
	defer f.Close()
	return f.ReadDir(-1) // in part, if that is what can be read
}

// openedDir is an open directory as a file. Where a file system gives no types of
// entries, os looks each up below its name: this one leads to the open one.
func openedDir(fd int) *os.File { return os.NewFile(uintptr(fd), fmt.Sprintf("/proc/self/fd/%d", fd)) }

var errNotRegular = errors.New("it is not a regular file")

// regularAt opens a regular file for reading.
func regularAt(dir int, name string) (*os.File, fs.FileInfo, error) {
	fd, err := openAt(dir, name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
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

// readAt reads a regular file of at most limit bytes.
func readAt(dir int, name string, limit int64) ([]byte, error) {
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

// createAt makes a new file.
func createAt(dir int, name string, from io.Reader, mode fs.FileMode) error {
	fd, err := openAt(dir, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL, uint32(mode.Perm()))
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), name)
	_, err = io.Copy(f, from)
	return errors.Join(err, f.Close())
}

// linkAt is where a link leads.
func linkAt(dir int, name string) (string, error) {
	buf := make([]byte, maxName+1)
	n, err := unix.Readlinkat(dir, name, buf)
	if err != nil {
		return "", err
	}
	return string(buf[:n]), nil
}

// removeAt removes a file or a tree.
func removeAt(dir int, name string) error {
	err := unix.Unlinkat(dir, name, 0)
	if err == nil || errors.Is(err, unix.ENOENT) {
		return nil
	}
	fd, oerr := openDirAt(dir, name)
	if oerr != nil {
		return err // what unlink had to say of what is no directory
	}
	defer unix.Close(fd)
	entries, err := listAt(fd)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := removeAt(fd, e.Name()); err != nil {
			return err
		}
	}
	return unix.Unlinkat(dir, name, unix.AT_REMOVEDIR)
}

// copyAt copies a file, a link or a tree of them. Pipes, sockets and devices are
// left out.
func copyAt(dir int, name string, toDir int, to string) error {
	st, err := statAt(dir, name)
	if err != nil {
		return err
	}
	switch typeOf(&st) {
	case unix.S_IFLNK:
		target, err := linkAt(dir, name)
		if err != nil {
			return err
		}
		return unix.Symlinkat(target, toDir, to)
	case unix.S_IFREG:
		f, _, err := regularAt(dir, name)
		if err != nil {
			return err
		}
		defer f.Close()
		return createAt(toDir, to, f, 0o600)
	case unix.S_IFDIR:
		if err := unix.Mkdirat(toDir, to, 0o700); err != nil {
			return err
		}
		from, err := openDirAt(dir, name)
		if err != nil {
			return err
		}
		defer unix.Close(from)
		into, err := openDirAt(toDir, to)
		if err != nil {
			return err
		}
		defer unix.Close(into)
		entries, err := listAt(from)
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

// moveAt moves what a name stands for into another directory, also if that is on
// another file system, and also if whoever made it took the right to write away.
func moveAt(dir int, name string, toDir int, to string) error {
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
		_ = removeAt(toDir, to) // half a copy is none; the original is still there
		return err
	}
	return removeAt(dir, name)
}

// writable gives the owner of a directory, us, all rights to it until the function
// that it returns is called. For anything else it does nothing.
func writable(dir int, name string) (undo func()) {
	fd, err := openDirAt(dir, name)
	if err != nil {
		return func() {}
	}
	var st unix.Stat_t
	if err = unix.Fstat(fd, &st); err == nil {
		err = chmodDir(fd, uint32(st.Mode)&0o7777|0o700)
	}
	return func() {
		if err == nil {
			_ = chmodDir(fd, uint32(st.Mode)&0o7777)
		}
		unix.Close(fd)
	}
}

// chmodDir changes the mode of a directory that may be open for its place only.
func chmodDir(fd int, mode uint32) error {
	if err := unix.Fchmod(fd, mode); !errors.Is(err, unix.EBADF) {
		return err
	}
	return unix.Chmod(fmt.Sprintf("/proc/self/fd/%d", fd), mode)
}
