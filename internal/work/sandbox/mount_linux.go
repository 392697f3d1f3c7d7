//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"golang.org/x/sys/unix"
)

// blank are empty things to cover others with: nobody may read them.
type blank struct{ file, dir int }

// newTmpfs makes a file system in memory that is mounted nowhere.
func newTmpfs(options string) (int, error) {
	fail := func(err error) (int, error) { return -1, fmt.Errorf("making a file system in memory: %w", err) }
	fs, err := unix.Fsopen("tmpfs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return fail(err)
	}
	defer unix.Close(fs)
	for o := range strings.SplitSeq(options, ",") {
		key, value, _ := strings.Cut(o, "=")
		if err := unix.FsconfigSetString(fs, key, value); err != nil {
			return fail(err)
		}
	}
	if err := unix.FsconfigCreate(fs); err != nil {
		return fail(err)
	}
	fd, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV)
	if err != nil {
		return fail(err)
	}
	return fd, nil
}

func blanks(tmpfs int) (blank, error) {
	f, err := unix.Openat(tmpfs, "file", unix.O_CREAT|unix.O_WRONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return blank{}, fmt.Errorf("making a cover for secrets: %w", err)
	}
	_ = unix.Close(f)
	if err := unix.Mkdirat(tmpfs, "dir", 0); err != nil {
		return blank{}, fmt.Errorf("making a cover for secrets: %w", err)
	}
	return blank{tmpfs, tmpfs}, nil
}

func clone(dir int, path string) (int, error) {
	return unix.OpenTree(dir, path, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
}

func setattr(fd int, set uint64, flags uint) error {
	a := unix.MountAttr{Attr_set: set}
	return unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|flags, &a)
}

// openNoLinks opens a path for its place in the tree only, and follows no link
// in any part of it.
func openNoLinks(path string) (int, error) {
	return unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_CLOEXEC | unix.O_NOFOLLOW, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	})
}

// open opens the file at a mount's place and fails if it is not the one that the policy expects
// there. From then on the descriptor is used instead of the name.
func (m mount) open() (int, error) {
	fd, err := openNoLinks(m.at)
	if err != nil {
		if m.want != nil {
			return -1, changed(m.at, err)
		}
		return -1, err
	}
	if m.want == nil {
		return fd, nil
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("looking at %s: %w", m.at, err)
	}
	if (rootfs.ID{Dev: st.Dev, Ino: st.Ino}) != *m.want {
		unix.Close(fd)
		return -1, changed(m.at, nil)
	}
	return fd, nil
}

// changed returns the error for a path of Policy.Expect that is gone or replaced.
func changed(path string, err error) error {
	if err == nil {
		return fmt.Errorf("%w: %s is something else now", ErrChanged, path)
	}
	return fmt.Errorf("%w: %s: %w", ErrChanged, path, err)
}

// take opens the file to mount, or returns -1 if there is nothing to do. Descriptors of the
// runner's are of no use here: the kernel clones mounts of the caller's own namespace only, so
// each is opened anew and compared with the runner's finding.
func (m mount) take(b blank) (int, error) {
	if m.kind == "collect" {
		return m.takeCollect()
	}
	if m.want != nil {
		return m.takeExpected(b)
	}
	switch m.kind {
	case "tmpfs":
		var st unix.Stat_t
		if unix.Lstat(m.at, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR {
			return -1, nil // nothing there to hide, or a link to what is hidden itself
		}
		return newTmpfs("size=1m,nr_inodes=4096,mode=0755")
	case "overlay":
		return overlay(m.at, m.from)
	case "mask":
		var st unix.Stat_t
		if unix.Lstat(m.at, &st) != nil {
			return -1, nil // it is gone
		}
		name := "file"
		if st.Mode&unix.S_IFMT == unix.S_IFDIR {
			name = "dir"
		}
		fd, err := clone(b.file, name)
		if err != nil {
			return -1, fmt.Errorf("covering %s: %w", m.at, err)
		}
		return fd, nil
	}
	fd, err := clone(unix.AT_FDCWD, m.from)
	switch {
	case m.ro && (errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EACCES)):
		return -1, nil
	case err != nil:
		return -1, fmt.Errorf("taking %s: %w", m.from, err)
	}
	return fd, nil
}

// takeExpected is like take, for a file in a tree that other processes may be changing.
func (m mount) takeExpected(b blank) (int, error) {
	at, err := m.open()
	if err != nil {
		return -1, err
	}
	defer unix.Close(at)
	dir, path, flags := at, "", uint(unix.AT_EMPTY_PATH)
	if m.kind == "mask" {
		var st unix.Stat_t
		if err := unix.Fstat(at, &st); err != nil {
			return -1, fmt.Errorf("looking at %s: %w", m.at, err)
		}
		dir, path, flags = b.file, "file", 0
		if st.Mode&unix.S_IFMT == unix.S_IFDIR {
			path = "dir"
		}
	}
	fd, err := unix.OpenTree(dir, path, flags|unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	if err != nil {
		return -1, fmt.Errorf("taking %s: %w", m.at, err)
	}
	return fd, nil
}

// overlay puts upper over lower. It may not be had: then the command gets
// upper alone, which is slower the first time and no less safe.
func overlay(lower, upper string) (int, error) {
	fd, err := func() (int, error) {
		if strings.ContainsAny(lower+upper, `,:\`) {
			return -1, errors.New("a path has a character that overlays give a meaning")
		}
		return overlayMount(lower, upper, upper+"-work")
	}()
	if err == nil {
		return fd, nil
	}
	if fd, err = clone(unix.AT_FDCWD, upper); err != nil {
		return -1, fmt.Errorf("taking %s: %w", upper, err)
	}
	return fd, nil
}

// place attaches a mount that take opened. The path is walked without following links: another
// process that can write the workspace could have put one there meanwhile.
func (m mount) place(fd int) error {
	set := uint64(unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV)
	if m.ro && m.kind != "tmpfs" {
		set |= unix.MOUNT_ATTR_RDONLY
	}
	if m.kind == "mask" {
		set |= unix.MOUNT_ATTR_NOEXEC
	}
	if err := setattr(fd, set, unix.AT_RECURSIVE); err != nil {
		return fmt.Errorf("setting up %s: %w", m.at, err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fmt.Errorf("setting up %s: %w", m.at, err)
	}
	isDir := st.Mode&unix.S_IFMT == unix.S_IFDIR
	if !m.pin {
		if err := mountpoint(m.at, isDir); err != nil {
			return fmt.Errorf("making room for %s: %w", m.at, err)
		}
	}
	if !m.pin || m.over {
		m.want = nil // a place that was just made for it, or a name in the overlay
	}
	at, err := m.open()
	if m.kind == "bind" && m.at == "/var/tmp" && err != nil {
		return nil // a link to /tmp, or not there
	}
	if m.pin && m.want == nil && errors.Is(err, unix.ENOENT) {
		return nil // gone between the look and now
	}
	if err != nil {
		return fmt.Errorf("reaching %s: %w", m.at, err)
	}
	defer unix.Close(at)
	if err := unix.MoveMount(fd, "", at, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH); err != nil {
		return fmt.Errorf("mounting %s: %w", m.at, err)
	}
	return nil
}

// mountpoint makes path if it does not exist, as the place for a mount inside a covered directory.
func mountpoint(path string, dir bool) error {
	if _, err := os.Lstat(path); err == nil {
		return nil
	}
	if dir {
		return os.MkdirAll(path, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	return f.Close()
}

// devices are the ones that programs need and that hold nothing.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"}

// openDevices takes the harmless devices before all others are closed.
func openDevices() (map[string]int, error) {
	out := map[string]int{}
	for _, d := range append([]string{"/dev/pts"}, devices...) {
		fd, err := clone(unix.AT_FDCWD, d)
		if errors.Is(err, unix.ENOENT) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("taking %s: %w", d, err)
		}
		out[d] = fd
	}
	return out, nil
}

// placeDevices covers /dev: the host's /dev contains the disks, which user 0 may read raw.
func placeDevices(dev map[string]int) error {
	fs, err := newTmpfs("size=1m,mode=0755")
	if err != nil {
		return err
	}
	if err := unix.MoveMount(fs, "", unix.AT_FDCWD, "/dev", unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return fmt.Errorf("covering /dev: %w", err)
	}
	for _, d := range append([]string{"/dev/pts"}, devices...) {
		fd, ok := dev[d]
		if !ok {
			continue
		}
		if err := mountpoint(d, d == "/dev/pts"); err != nil {
			return fmt.Errorf("making room for %s: %w", d, err)
		}
		if err := unix.MoveMount(fd, "", unix.AT_FDCWD, d, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
			return fmt.Errorf("mounting %s: %w", d, err)
		}
	}
	for _, l := range [][2]string{{"/proc/self/fd", "/dev/fd"}, {"/proc/self/fd/0", "/dev/stdin"}, {"/proc/self/fd/1", "/dev/stdout"}, {"/proc/self/fd/2", "/dev/stderr"}, {"pts/ptmx", "/dev/ptmx"}} {
		if err := os.Symlink(l[0], l[1]); err != nil {
			return fmt.Errorf("making %s: %w", l[1], err)
		}
	}
	if err := os.Mkdir("/dev/shm", 0o1777); err != nil {
		return err
	}
	shm, err := newTmpfs("size=50%,mode=1777")
	if err != nil {
		return err
	}
	if err := unix.MoveMount(shm, "", unix.AT_FDCWD, "/dev/shm", unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return fmt.Errorf("mounting /dev/shm: %w", err)
	}
	if err := setattr(fs, unix.MOUNT_ATTR_RDONLY, 0); err != nil {
		return fmt.Errorf("closing /dev: %w", err)
	}
	return nil
}

// takeCollect makes the overlay that collects a command's writes. There is no fallback: the caller
// reads the record of the command from the upper directory. The directories are passed as
// descriptors, so the kernel does not walk their paths again.
func (m mount) takeCollect() (int, error) {
	lower, err := m.open()
	if err != nil {
		return -1, err
	}
	defer unix.Close(lower)
	names := [3]string{fdName(lower)}
	for i, path := range []string{filepath.Join(m.from, "upper"), filepath.Join(m.from, "work")} {
		how := unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS}
		fd, err := unix.Openat2(unix.AT_FDCWD, path, &how)
		if err != nil {
			return -1, fmt.Errorf("opening %s: %w", path, err)
		}
		defer unix.Close(fd)
		names[i+1] = fdName(fd)
	}
	fd, err := overlayMount(names[0], names[1], names[2])
	if err != nil {
		return -1, fmt.Errorf("mounting an overlay on %s: %w", m.at, err)
	}
	return fd, nil
}

// hostSecrets lists the files that only root can read: a command of root's, which keeps that right
// without any capability, must not read them.
func hostSecrets() []string {
	if os.Geteuid() != 0 {
		return nil
	}
	var out []string
	for _, pattern := range []string{"/etc/*shadow*", "/etc/ssh/ssh_host_*_key", "/etc/ssl/private", "/etc/sudoers"} {
		found, _ := filepath.Glob(pattern) // the patterns are well formed
		out = append(out, found...)
	}
	return out
}
