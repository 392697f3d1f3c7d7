package overlay

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/work/sandbox"
)

// Support finds out whether commands of one Runner can have an overlay, and
// would find their workspace in it as it is. It is safe for concurrent use.
type Support struct {
	mu    sync.Mutex
	tried bool
	why   string // an overlay cannot be had on this machine, here
	dirs  map[string]*dirState
}

// An dirState is a directory of the workspace as it was last read.
type dirState struct {
	state  unix.Stat_t
	read   time.Time
	below  []string
	why    string
	linked map[uint64]int // names of hard links
}

// localFS are the file systems that only this machine changes and that the
// upper layer of an overlay can lie on.
var localFS = []int64{unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.TMPFS_MAGIC, unix.F2FS_SUPER_MAGIC}

// Usable explains why no command in root can have an overlay, or returns "". It is determined
// once, by running one.
func (c *Support) Usable(root, dir string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.tried {
		c.why = tryOverlay(root, dir)
		c.tried = true
	}
	return c.why
}

func tryOverlay(root, dir string) string {
	for _, d := range []string{root, dir} {
		var st unix.Statfs_t
		if err := unix.Statfs(d, &st); err != nil || !slices.Contains(localFS, int64(st.Type)) {
			return fmt.Sprintf("the file system of %s does not take an overlay, or is shared with other machines", d)
		}
	}
	real, err := filepath.EvalSymlinks(dir) // the sandbox follows no links
	if err != nil {
		return "an overlay was tried and did not work: " + err.Error()
	}
	probe, err := os.MkdirTemp(real, "probe-")
	if err != nil {
		return "an overlay was tried and did not work: " + err.Error()
	}
	defer func() { _ = rootfs.RemoveAll(probe) }()
	if err := probeOverlay(root, probe); err != nil {
		return "an overlay was tried and did not work: " + err.Error()
	}
	return ""
}

// probeOverlay runs a command that writes, removes and renames a directory of the lower layer, and
// checks the collected changes. The workspace may be on another file system, and nothing may be
// left there for the probe: the command writes in it too.
func probeOverlay(root, dir string) error {
	lower := filepath.Join(dir, "lower")
	for _, d := range []string{"lower", "lower/.adroit-gone", "lower/.adroit-old", "upper", "work", "probe", "probe/upper", "probe/work", "private"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o700); err != nil {
			return err
		}
	}
	if err := rootfs.WriteScratch(filepath.Join(dir, "lock"), 0o600, nil); err != nil {
		return err
	}
	if err := sandbox.ProbeCollect(context.Background(), &sandbox.Policy{Dir: lower, Write: []string{lower}, Private: filepath.Join(dir, "private"), Collect: dir, Probe: root}); err != nil {
		return err
	}
	upper := filepath.Join(dir, "upper")
	if b, err := os.ReadFile(filepath.Join(upper, "new", "made")); err != nil || string(b) != "x\n" {
		return errors.New("what the command wrote was not collected")
	}
	info, err := os.Lstat(filepath.Join(upper, ".adroit-gone"))
	if err != nil || info.Mode()&fs.ModeCharDevice == 0 || info.Sys().(*syscall.Stat_t).Rdev != 0 {
		return errors.New("what the command removed was not collected")
	}
	return nil
}

// Fits explains why the workspace must not be seen through an overlay now, or returns "". It reads
// the directories that have changed since the last call.
func (c *Support) Fits(root string, write []string) string {
	for _, w := range write[1:] {
		if rootfs.Within(root, w) {
			return w + " in the workspace is writable by itself"
		}
	}
	if at := mountBelow(root); at != "" {
		return "there is a mount in the workspace, at " + at
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	old := c.dirs
	c.dirs = make(map[string]*dirState, len(old))
	linked := map[uint64]int{}
	fd, err := unix.Open(root, rootfs.PathOnly|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Sprintf("%s cannot be looked at: %v", root, err)
	}
	defer unix.Close(fd)
	return c.visit(fd, ".", root, false, old, linked)
}

// visit looks at one directory, by its name in the open one above.
func (c *Support) visit(up int, name, dir string, deps bool, old map[string]*dirState, linked map[uint64]int) string {
	st, err := rootfs.StatAt(up, name)
	if err != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return ""
	}
	d := old[dir]
	current := d != nil && d.state.Ctim == st.Ctim && d.state.Ino == st.Ino && d.state.Dev == st.Dev && d.read.Sub(time.Unix(0, st.Ctim.Nano())) >= rootfs.ClockGranularity
	fd := -1
	if !current || len(d.below) > 0 { // most directories need not be opened
		flags := unix.O_RDONLY
		if current {
			flags = rootfs.PathOnly
		}
		if fd, err = rootfs.OpenAt(up, name, flags|unix.O_DIRECTORY, 0); err == nil {
			defer unix.Close(fd)
		}
	}
	if !current {
		d = readOverlayDir(fd, dir, deps)
		d.state = st
	}
	c.dirs[dir] = d
	if d.why != "" {
		return d.why
	}
	if why := foreign(dir, "", &st); why != "" {
		return why
	}
	for ino, n := range d.linked {
		if linked[ino] += n; linked[ino] > 1 {
			return "files in the workspace are hard links of each other, in " + dir
		}
	}
	for _, b := range d.below {
		if why := c.visit(fd, b, filepath.Join(dir, b), deps || slices.Contains(rootfs.DependencyDirs, b), old, linked); why != "" {
			return why
		}
	}
	return ""
}

// foreign explains why the kernel could not copy a file up: its owner is not known in the
// command's user namespace, which has one user and one group.
func foreign(dir, name string, st *unix.Stat_t) string {
	if int(st.Uid) != euid || int(st.Gid) != egid {
		return fmt.Sprintf("%s belongs to another user or group (%d:%d)", filepath.Join(dir, name), st.Uid, st.Gid)
	}
	return ""
}

// Asked once: a system call for each file would be half of the cost of a large tree.
var euid, egid = os.Geteuid(), os.Getegid()

// readOverlayDir reads the entries of a directory, which is open unless that was refused. deps is
// set in directories of dependencies, where hard links among files are common and not written to.
func readOverlayDir(fd int, dir string, deps bool) *dirState {
	d := &dirState{read: time.Now(), linked: map[uint64]int{}}
	if fd < 0 {
		return d // a command cannot look into it either
	}
	names, _ := readNames(fd) // in part, if that is what can be read
	for _, n := range names {
		if n == ".git" {
			continue // it is not below the overlay
		}
		st := lstat(fd, n)
		if st == nil {
			continue
		}
		if d.why = foreign(dir, n, st); d.why != "" {
			return d
		}
		switch st.Mode & unix.S_IFMT {
		case unix.S_IFDIR:
			d.below = append(d.below, n)
		case unix.S_IFREG:
			if st.Nlink > 1 && !deps {
				d.linked[st.Ino]++
			}
			for _, end := range []string{"-shm", "-journal"} {
				if base, ok := strings.CutSuffix(n, end); ok && slices.Contains(names, base) && database(fd, base) {
					d.why = "the database " + filepath.Join(dir, base) + " is open in another program"
					return d
				}
			}
		case unix.S_IFCHR:
			if st.Rdev == 0 {
				d.why = filepath.Join(dir, n) + " looks like a mark of an overlay"
				return d
			}
		}
	}
	return d
}

// mountBelow finds a mount inside of dir, which an overlay would not show.
func mountBelow(dir string) string {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return dir // not known: none is safer
	}
	defer f.Close()
	in := bufio.NewScanner(f)
	for in.Scan() {
		fields := strings.Fields(in.Text())
		if len(fields) < 5 {
			continue
		}
		at := unescapeMount(fields[4])
		if at != dir && rootfs.Within(dir, at) {
			return at
		}
	}
	if in.Err() != nil {
		return dir
	}
	return ""
}

// unescapeMount undoes how mountinfo writes blanks and backslashes.
func unescapeMount(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}
