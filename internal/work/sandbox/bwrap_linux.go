//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/adroit-run/adroit/internal/system/hostexec"
	"github.com/adroit-run/adroit/internal/system/rootfs"
)

// bwrapSelf is the path of the link to this program that bwrap puts into its /run, which is empty
// otherwise. Its name makes the program start as a stage again.
const bwrapSelf = "/run/" + stageName

// bwrap becomes the system's bubblewrap, which builds the view and starts this
// program inside, where it confines itself and becomes the command.
func (p *Policy) bwrap(argv []string) error {
	hostexec.Forbid(p.Write...)
	bin, err := hostexec.Find("/usr/bin/bwrap")
	if err != nil {
		if bin, err = hostexec.Find("bwrap"); err != nil {
			return fmt.Errorf("bwrap is not installed: %w", err)
		}
	}
	// bwrap takes names. What it made of them is looked at inside, before the
	// command starts; looking here as well gives the better error.
	for _, m := range p.view() {
		if m.want != nil && p.Mounts == mountsByName {
			fd, err := m.open()
			if err != nil {
				return err
			}
			unix.Close(fd)
		}
	}
	inner := *p
	inner.Locked = true
	f, err := memory(&inner)
	if err != nil {
		return err
	}
	if err := unix.Dup3(int(f.Fd()), policyFD, 0); err != nil {
		return fmt.Errorf("handing on the policy: %w", err)
	}
	for _, fd := range []int{statusFD, selfFD} {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFD, 0); err != nil {
			return fmt.Errorf("handing on the status: %w", err)
		}
	}
	args := append(p.bwrapArgs(), bwrapSelf)
	if p.Mounts == mountsInside {
		args = append(p.bwrapNamespaces(), "--cap-add", "CAP_SYS_ADMIN", "--cap-add", "CAP_SETPCAP", "--bind", "/", "/", "--dev-bind", "/dev", "/dev", "--proc", "/proc",
			"--", selfPath, stageName)
	}
	// bwrap's own processes sit in the command's group and do not handle TERM:
	// ending with it they would kill the command before its time to clean up is
	// over. The stage inside gives the command the default again.
	signal.Ignore(syscall.SIGTERM)
	return fmt.Errorf("starting bwrap: %w", unix.Exec(bin, append(append([]string{"bwrap"}, args...), argv...), os.Environ()))
}

// selfPath is this program for bwrap.
var selfPath = "/proc/self/fd/" + strconv.Itoa(selfFD)

func (p *Policy) bwrapNamespaces() []string {
	args := []string{"--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-uts", "--die-with-parent", "--cap-drop", "ALL"}
	if !p.NetOpen {
		args = append(args, "--unshare-net")
	}
	return args
}

// bwrapArgs renders the view as arguments of bwrap.
func (p *Policy) bwrapArgs() []string {
	args := append(p.bwrapNamespaces(), "--ro-bind", "/", "/", "--dev", "/dev", "--tmpfs", "/dev/shm")
	exists := func(path string) bool {
		_, err := os.Lstat(path)
		return err == nil
	}
	isDir := func(path string) bool {
		info, err := os.Lstat(path)
		return err == nil && info.IsDir()
	}
	var closed []string
	cover := func(at string) {
		if isDir(at) {
			args = append(args, "--perms", "0000", "--tmpfs", at)
			closed = append(closed, at)
		} else if exists(at) {
			args = append(args, "--perms", "0000", "--ro-bind-data", strconv.Itoa(nothing()), at)
		}
	}
	for _, m := range p.view() {
		switch {
		case m.kind == "mask":
			cover(m.at)
		case m.kind == "tmpfs":
			if isDir(m.at) {
				args = append(args, "--tmpfs", m.at)
				if m.at == "/run" {
					args = append(args, "--symlink", selfPath, bwrapSelf)
					continue // the link is taken away from inside
				}
				closed = append(closed, m.at)
			}
		case m.kind == "overlay":
			// Old versions of bwrap have no overlays: the command gets only its own files, at the
			// place that Environ names.
			args = append(args, "--bind", m.from, m.from)
		case m.at == "/var/tmp" && !isDir(m.at):
		case m.ro && (m.want != nil || exists(m.from)):
			args = append(args, "--ro-bind", m.from, m.at)
		case !m.ro:
			args = append(args, "--bind", m.from, m.at)
		}
	}
	for _, s := range hostSecrets() {
		cover(s)
	}
	args = append(args, "--proc", "/proc", "--remount-ro", "/proc")
	for _, d := range closed {
		args = append(args, "--remount-ro", d)
	}
	return append(args, "--chdir", p.Dir, "--")
}

// verifyMounts checks from inside that bwrap made each mount of the policy at its place: bwrap
// follows links in both paths, and another process of the user's may have put one there.
func (p *Policy) verifyMounts() error {
	for _, m := range p.view() {
		if m.want == nil {
			continue
		}
		fd, err := openNoLinks(m.at)
		if err != nil {
			return changed(m.at, err)
		}
		var st unix.Stat_t
		var mounted unix.Statx_t
		var fs unix.Statfs_t
		err = errors.Join(unix.Fstat(fd, &st), unix.Fstatfs(fd, &fs), unix.Statx(fd, "", unix.AT_EMPTY_PATH, 0, &mounted))
		unix.Close(fd)
		if err != nil {
			return fmt.Errorf("looking at the mount on %s: %w", m.at, err)
		}
		same := rootfs.ID{Dev: st.Dev, Ino: st.Ino} == *m.want
		switch {
		case mounted.Attributes_mask&unix.STATX_ATTR_MOUNT_ROOT == 0:
			return errors.New("checking the mounts that bwrap made needs Linux 5.8")
		case mounted.Attributes&unix.STATX_ATTR_MOUNT_ROOT == 0, same == (m.kind == "mask"), m.ro && fs.Flags&unix.ST_RDONLY == 0:
			return changed(m.at, nil)
		}
	}
	return nil
}

// nothing returns an empty file. bwrap reads one for each secret that it covers.
func nothing() int {
	fd, err := unix.MemfdCreate("nothing", 0)
	if err != nil {
		return -1 // bwrap refuses it and nothing runs
	}
	return fd
}
