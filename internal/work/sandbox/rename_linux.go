//go:build linux && (amd64 || arm64)

package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// On an overlay that a user may mount, rename(2) of a directory that the lower
// layer has fails with EXDEV. mv then copies; git mv, and programs that call
// rename themselves, fail. So the kernel hands the renames of a command to the
// first process of its namespace, which moves such a directory entry by entry
// and lets the kernel do all others.

type seccompNotif struct {
	id    uint64
	pid   uint32
	flags uint32
	data  seccompData
}

type seccompResp struct {
	id    uint64
	val   int64
	err   int32
	flags uint32
}

// notifyRenames puts a filter on the calling thread, and on programs that it starts, that reports
// renames to the listener it returns. The flag keeps a call that is being answered from being
// repeated after a signal; it needs Linux 5.19.
func notifyRenames() (int, error) {
	var prog []unix.SockFilter
	prog = append(prog, stmt(opLoad, offNr))
	for _, nr := range renames {
		prog = append(prog, jump(opEq, nr, 0, 1), stmt(opRet, unix.SECCOMP_RET_USER_NOTIF))
	}
	prog = append(prog, stmt(opRet, allow))
	fp := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	fd, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
		unix.SECCOMP_FILTER_FLAG_NEW_LISTENER|unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, uintptr(unsafe.Pointer(&fp)))
	if e != 0 {
		return -1, fmt.Errorf("listening to renames: %w", e)
	}
	unix.CloseOnExec(int(fd))
	return int(fd), nil
}

// A renamer answers the renames of a command. It runs in a thread of its own
// that has the command's user and no capabilities; it acts only between
// directories of the overlay.
type renamer struct {
	dev    uint64 // of the overlay
	listen chan int
	err    chan error
}

// newRenamer starts the thread, which must be made before the calling one is
// confined: a filter is inherited by threads.
func newRenamer(workspace string) (*renamer, error) {
	var st unix.Stat_t
	if err := unix.Stat(workspace, &st); err != nil {
		return nil, fmt.Errorf("looking at the overlay: %w", err)
	}
	r := &renamer{dev: uint64(st.Dev), listen: make(chan int), err: make(chan error)}
	go func() { // ends with the process
		runtime.LockOSThread()
		r.err <- dropCaps()
		r.serve(<-r.listen)
	}()
	return r, <-r.err
}

func (r *renamer) serve(fd int) {
	for {
		var n seccompNotif
		_, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(&n)))
		if e == unix.EINTR || e == unix.ENOENT { // the caller was killed meanwhile
			continue
		}
		if e != 0 {
			return
		}
		a := seccompResp{id: n.id}
		if err := r.answer(&n); err == errContinue {
			a.flags = unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE
		} else if err != nil {
			errno := unix.EIO
			errors.As(err, &errno)
			a.err = -int32(errno)
		}
		_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&a)))
	}
}

// errContinue lets the kernel perform the call.
var errContinue = errors.New("continue")

// answer performs the rename of a directory. Everything else, and everything that cannot be
// inspected, is left to the kernel.
func (r *renamer) answer(n *seccompNotif) error {
	from, to, flags := renameArgs(&n.data)
	if flags&^unix.RENAME_NOREPLACE != 0 {
		return errContinue
	}
	src, err := r.locate(n.pid, from)
	if err != nil {
		return errContinue
	}
	defer unix.Close(src.dir)
	var st unix.Stat_t
	if unix.Fstatat(src.dir, src.name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR || uint64(st.Dev) != r.dev {
		return errContinue
	}
	dst, err := r.locate(n.pid, to)
	if err != nil {
		return errContinue
	}
	defer unix.Close(dst.dir)
	err = unix.Renameat2(src.dir, src.name, dst.dir, dst.name, uint(flags))
	if err != unix.EXDEV {
		return err
	}
	if flags&unix.RENAME_NOREPLACE != 0 && unix.Fstatat(dst.dir, dst.name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil {
		return unix.EEXIST
	}
	if !movable(src.dir, src.name) {
		return unix.EBUSY // rather than EXDEV, upon which mv would copy and stop half way
	}
	if err := unix.Unlinkat(dst.dir, dst.name, unix.AT_REMOVEDIR); err != nil && err != unix.ENOENT {
		return err
	}
	return moveDir(src, dst)
}

// A place is a name in an open directory.
type place struct {
	dir  int
	name string
}

// locate finds the directory of a path of a process. It fails for paths that are not on the
// overlay.
func (r *renamer) locate(pid uint32, o operand) (place, error) {
	p, err := readPath(int(pid), o.addr)
	if err != nil {
		return place{}, err
	}
	dir, name := path.Split(trimSlashes(p))
	if name == "" || name == "." || name == ".." {
		return place{}, unix.EINVAL
	}
	at := unix.AT_FDCWD
	if !path.IsAbs(p) {
		link := fmt.Sprintf("/proc/%d/cwd", pid)
		if o.dirfd != unix.AT_FDCWD {
			link = fmt.Sprintf("/proc/%d/fd/%d", pid, o.dirfd)
		}
		if at, err = unix.Open(link, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
			return place{}, err
		}
		defer unix.Close(at)
		dir = "./" + dir
	}
	fd, err := unix.Openat2(at, dir, &unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_MAGICLINKS})
	if err != nil {
		return place{}, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || uint64(st.Dev) != r.dev {
		unix.Close(fd)
		return place{}, unix.EXDEV
	}
	return place{fd, name}, nil
}

func trimSlashes(p string) string {
	for len(p) > 1 && p[len(p)-1] == '/' {
		p = p[:len(p)-1]
	}
	return p
}

// readPath reads a string of another process, page by page, since it may end
// just before one that is not there.
func readPath(pid int, addr uint64) (string, error) {
	var out []byte
	for len(out) < unix.PathMax {
		chunk := make([]byte, 4096-int(addr%4096))
		local := []unix.Iovec{{Base: &chunk[0], Len: uint64(len(chunk))}}
		n, err := unix.ProcessVMReadv(pid, local, []unix.RemoteIovec{{Base: uintptr(addr), Len: len(chunk)}}, 0)
		if err != nil {
			return "", err
		}
		if i := bytes.IndexByte(chunk[:n], 0); i >= 0 {
			return string(append(out, chunk[:i]...)), nil
		}
		if n < len(chunk) {
			return "", unix.EFAULT
		}
		out, addr = append(out, chunk...), addr+uint64(n)
	}
	return "", unix.ENAMETOOLONG
}

func openDir(dir int, name string) (int, error) {
	return unix.Openat(dir, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
}

// entries lists the names in a directory.
func entries(fd int) ([]string, error) {
	var names []string
	buf := make([]byte, 1<<15)
	for {
		n, err := unix.Getdents(fd, buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, err
		}
		if n == 0 {
			slices.Sort(names)
			return names, nil
		}
		_, _, names = unix.ParseDirent(buf[:n], -1, names)
	}
}

// movable reports whether a tree has no mount in it and can be read, so that
// moving it does not stop half way.
func movable(dir int, name string) bool {
	fd, err := openDir(dir, name)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	if unix.Faccessat(fd, ".", unix.W_OK|unix.X_OK, 0) != nil {
		return false
	}
	names, err := entries(fd)
	if err != nil {
		return false
	}
	for _, n := range names {
		var st unix.Statx_t
		if unix.Statx(fd, n, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_TYPE, &st) != nil || st.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0 {
			return false
		}
		if st.Mode&unix.S_IFMT == unix.S_IFDIR && !movable(fd, n) {
			return false
		}
	}
	return true
}

// moveDir makes a directory under its new name and moves its content there. If it fails half way,
// each file is in one of the two.
func moveDir(src, dst place) error {
	var st unix.Stat_t
	if err := unix.Fstatat(src.dir, src.name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return err
	}
	if err := unix.Mkdirat(dst.dir, dst.name, 0o700); err != nil {
		return err
	}
	from, err := openDir(src.dir, src.name)
	if err != nil {
		return err
	}
	defer unix.Close(from)
	to, err := openDir(dst.dir, dst.name)
	if err != nil {
		return err
	}
	defer unix.Close(to)
	names, err := entries(from)
	if err != nil {
		return err
	}
	for _, n := range names {
		err := unix.Renameat(from, n, to, n)
		if err == unix.EXDEV {
			err = moveDir(place{from, n}, place{to, n})
		}
		if err != nil {
			return err
		}
	}
	// A user's extended attributes of a directory are not moved; no tool that
	// renames directories is known to set any.
	if err := unix.Fchmod(to, st.Mode&0o7777); err != nil {
		return err
	}
	times := []unix.Timespec{st.Atim, st.Mtim}
	if err := unix.UtimesNanoAt(dst.dir, dst.name, times, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return err
	}
	return unix.Unlinkat(src.dir, src.name, unix.AT_REMOVEDIR)
}
