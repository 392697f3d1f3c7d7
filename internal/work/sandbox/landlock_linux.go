//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	llRead = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	llV1   = 1<<13 - 1
	llFile = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_READ_FILE |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	llDevice = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
)

// landlockABI returns the version of Landlock that the kernel supports, or 0.
func landlockABI() int {
	v, _, e := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if e != 0 {
		return 0
	}
	return int(v)
}

// A ruleset is a set of Landlock rules under construction.
type ruleset struct {
	fd   int
	mask uint64
}

func newRuleset(abi int) (*ruleset, error) {
	mask := uint64(llV1)
	for _, r := range []struct {
		since int
		right uint64
	}{{2, unix.LANDLOCK_ACCESS_FS_REFER}, {3, unix.LANDLOCK_ACCESS_FS_TRUNCATE}, {5, unix.LANDLOCK_ACCESS_FS_IOCTL_DEV}, {unixABI, 1 << 16}} {
		if abi >= r.since {
			mask |= r.right
		}
	}
	attr := unix.LandlockRulesetAttr{Handled_access_fs: mask}
	size := unsafe.Sizeof(attr.Handled_access_fs)
	if abi >= 6 {
		attr.Scoped = unix.LANDLOCK_SCOPE_SIGNAL | unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
		size = unsafe.Offsetof(attr.Scoped) + unsafe.Sizeof(attr.Scoped)
	}
	fd, _, e := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if e != 0 {
		return nil, fmt.Errorf("making a Landlock ruleset: %w", e)
	}
	return &ruleset{int(fd), mask}, nil
}

// unixABI is the version from which on Landlock judges sockets with a path.
const unixABI = 9

func (r *ruleset) allow(path string, access uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EACCES) || errors.Is(err, unix.ELOOP) {
		return nil // what cannot be reached needs no permission
	}
	if err != nil {
		return fmt.Errorf("opening %s: %w", path, err)
	}
	defer unix.Close(fd)
	return r.allowFD(fd, path, access)
}

func (r *ruleset) allowFD(fd int, path string, access uint64) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fmt.Errorf("looking at %s: %w", path, err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		access &= llFile
	}
	// The kernel's struct is packed: 8 and 4 bytes.
	rule := struct {
		access uint64
		fd     int32
	}{access & r.mask, int32(fd)}
	if rule.access == 0 {
		return nil
	}
	if _, _, e := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(r.fd), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0); e != 0 {
		return fmt.Errorf("allowing %s: %w", path, e)
	}
	return nil
}

// allowAllBut gives a right to everything below dir except hidden paths. Landlock cannot subtract,
// so for a directory with a hidden entry the right is given to its other entries, and not to
// itself.
func (r *ruleset) allowAllBut(dir string, hidden []string, access uint64) error {
	inside := false
	for _, h := range hidden {
		if under(dir, h) {
			return nil
		}
		inside = inside || under(h, dir)
	}
	if !inside {
		return r.allow(dir, access)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // we cannot read it either
	}
	for _, e := range entries {
		if e.Type()&os.ModeSymlink != 0 {
			continue // its target is judged where it is
		}
		if err := r.allowAllBut(filepath.Join(dir, e.Name()), hidden, access); err != nil {
			return err
		}
	}
	return nil
}

// restrictFiles puts the calling thread, and the programs that it executes or starts, under the
// policy's file rules.
func (p *Policy) restrictFiles() error {
	abi := landlockABI()
	if abi == 0 {
		return errors.New("this kernel has no Landlock")
	}
	r, err := newRuleset(abi)
	if err != nil {
		return err
	}
	defer unix.Close(r.fd)
	if p.Level == Landlock {
		hidden := slices.Concat(p.Hide, []string{"/dev", "/run", "/tmp", "/var/tmp"}, hostSecrets())
		if p.Home != "" {
			hidden = append(hidden, p.Home)
		}
		if err := r.allowAllBut("/", hidden, llRead); err != nil {
			return err
		}
		for _, d := range p.Show {
			if err := r.allowAllBut(d, slices.Concat(p.Mask, p.Hide), llRead); err != nil {
				return err
			}
		}
	} else if err := r.allow("/", llRead); err != nil {
		return err
	}
	for _, d := range devices {
		if err := r.allow(d, llDevice); err != nil {
			return err
		}
	}
	if p.Level != Landlock {
		if err := r.allow("/dev/pts", llRead|llDevice); err != nil {
			return err
		}
	}
	write := r.mask &^ (unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK)
	for _, d := range p.writable(p.Level) {
		id, ok := p.Expect[d]
		if !ok || p.Collect != "" && d == p.Write[0] { // that is our overlay by now
			if err := r.allow(d, write); err != nil {
				return err
			}
			continue
		}
		fd, err := mount{at: d, want: &id}.open()
		if err != nil {
			return err
		}
		err = r.allowFD(fd, d, write)
		unix.Close(fd)
		if err != nil {
			return err
		}
	}
	if _, _, e := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(r.fd), 0, 0); e != 0 {
		return fmt.Errorf("entering Landlock: %w", e)
	}
	return nil
}
