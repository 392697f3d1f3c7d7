package rootfs

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// PathOnly opens a file for its place in the tree: it asks for no right to read
// and waits for nothing.
const PathOnly = unix.O_PATH

// ChangeTime returns the ctime of a file, in nanoseconds.
func ChangeTime(st *unix.Stat_t) int64 { return st.Ctim.Nano() }

// Identity identifies a directory, whatever its name: another one that is made in its place has
// another. It is "" where that is unknown, as on file systems that note no time of birth.
func Identity(dir string) string {
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return ""
	}
	defer unix.Close(fd)
	var st unix.Statx_t
	if unix.Statx(fd, "", unix.AT_EMPTY_PATH, unix.STATX_INO|unix.STATX_BTIME, &st) != nil || st.Mask&unix.STATX_BTIME == 0 {
		return ""
	}
	return fmt.Sprintf("%x-%x.%x", st.Ino, st.Btime.Sec, st.Btime.Nsec)
}

// notesChanges reports whether an open file lies on a local file system that notes the time
// of each change, as no network's and no user's own must.
func notesChanges(fd int) bool {
	var st unix.Statfs_t
	if unix.Fstatfs(fd, &st) != nil {
		return false
	}
	switch int64(st.Type) {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC, unix.TMPFS_MAGIC, unix.OVERLAYFS_SUPER_MAGIC:
		return true
	}
	return false
}

// OpenNoLinks opens a clean name below an open directory and follows no link in it.
func OpenNoLinks(root int, rel string, flags int) (int, error) {
	how := unix.OpenHow{Flags: uint64(flags | unix.O_CLOEXEC), Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS}
	if fd, err := unix.Openat2(root, rel, &how); err == nil {
		return fd, nil
	}
	return openParts(root, rel, flags) // it cannot be opened, or the kernel or its filter does not know the call
}

// RenameAt renames one name to another, with the flags of renameat2.
func RenameAt(dir int, name string, toDir int, to string, flags uint) error {
	if err := oneName(name, to); err != nil {
		return err
	}
	return unix.Renameat2(dir, name, toDir, to, flags)
}

// MknodAt makes a FIFO or a socket.
func MknodAt(dir int, name string, mode uint32) error {
	if err := oneName(name); err != nil {
		return err
	}
	return unix.Mknodat(dir, name, mode, 0)
}

// LinkFile gives an open file another name. It links the file that was opened, even if the names
// that led to it now lead elsewhere.
func LinkFile(fd int, dir int, name string) error {
	if err := oneName(name); err != nil {
		return err
	}
	// AT_EMPTY_PATH would need a capability; this link is the kernel's own.
	return unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), dir, name, unix.AT_SYMLINK_FOLLOW)
}

// SetTimesAt sets the times of the file of a name, without following a link; "." is the directory
// itself.
func SetTimesAt(dir int, name string, atime, mtime unix.Timespec) error {
	if err := oneName(name); err != nil {
		return err
	}
	return unix.UtimesNanoAt(dir, name, []unix.Timespec{atime, mtime}, unix.AT_SYMLINK_NOFOLLOW)
}

// AttrAt returns an extended attribute of the file of a name, and whether there is one. A value of more
// than 255 bytes is returned empty.
func AttrAt(dir int, name, attr string) (value string, there bool) {
	if oneName(name) != nil {
		return "", false
	}
	buf := make([]byte, 255)
	n, err := unix.Lgetxattr(fmt.Sprintf("/proc/self/fd/%d/%s", dir, name), attr, buf)
	if err != nil {
		n = 0
	}
	return string(buf[:n]), err == nil || err == unix.ERANGE
}

// AttrsAt returns the extended attributes of the file of a name, access control lists and
// capabilities among them, by their names. It leaves out labels of the system and the marks of
// overlays.
func AttrsAt(dir int, name string) map[string]string {
	if oneName(name) != nil {
		return nil
	}
	file := fmt.Sprintf("/proc/self/fd/%d/%s", dir, name)
	return attrs(func(buf []byte) (int, error) { return unix.Llistxattr(file, buf) },
		func(attr string, buf []byte) (int, error) { return unix.Lgetxattr(file, attr, buf) })
}

// attrs reads attributes by a call that lists them, and one that gets a value.
func attrs(list func([]byte) (int, error), get func(string, []byte) (int, error)) (found map[string]string) {
	n, err := list(nil)
	if err != nil || n == 0 {
		return nil
	}
	buf := make([]byte, n+1<<10)
	if n, err = list(buf); err != nil {
		return nil
	}
	value := make([]byte, 1<<16) // the kernel's bound
	for name := range strings.SplitSeq(strings.TrimRight(string(buf[:n]), "\x00"), "\x00") {
		kept := strings.HasPrefix(name, "user.") && !strings.HasPrefix(name, "user.overlay.") || strings.HasPrefix(name, "system.posix_acl_") || name == "security.capability"
		if !kept {
			continue
		}
		if n, err := get(name, value); err == nil {
			if found == nil {
				found = map[string]string{}
			}
			found[name] = string(value[:n])
		}
	}
	return found
}

// SetAttrs gives an open file these extended attributes, and takes away others that AttrsAt would
// return. It does what the file system and the user's rights allow.
func SetAttrs(fd int, want map[string]string) {
	now := attrs(func(buf []byte) (int, error) { return unix.Flistxattr(fd, buf) },
		func(attr string, buf []byte) (int, error) { return unix.Fgetxattr(fd, attr, buf) })
	for name, value := range want {
		if old, ok := now[name]; !ok || old != value {
			_ = unix.Fsetxattr(fd, name, []byte(value), 0)
		}
	}
	for name := range now {
		if _, ok := want[name]; !ok {
			_ = unix.Fremovexattr(fd, name)
		}
	}
}

// AddAttrs gives an open file these extended attributes too, and returns the names of those that it
// cannot have here, sorted.
func AddAttrs(fd int, attrs map[string]string) (refused []string) {
	for _, name := range slices.Sorted(maps.Keys(attrs)) {
		if unix.Fsetxattr(fd, name, []byte(attrs[name]), 0) != nil {
			refused = append(refused, name)
		}
	}
	return refused
}

// OpenSame opens the file of a name with O_PATH if it has the given ID; it never opens a link. For
// any other file it returns ErrAnother.
func OpenSame(dir int, name string, id ID) (int, error) {
	fd, err := OpenAt(dir, name, PathOnly, 0)
	if err != nil {
		return -1, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || FileID(&st) != id || TypeOf(&st) == unix.S_IFLNK {
		unix.Close(fd)
		return -1, ErrAnother
	}
	return fd, nil
}
