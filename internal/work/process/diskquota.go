package process

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/adroit-run/adroit/internal/work/sandbox"
)

const (
	// defaultFree is what a command must leave free of a disk, in bytes, where a
	// sixteenth of the disk is not less.
	defaultFree = 512 << 20
	// reserve is the part of that below which no command is started at all.
	reserve = 8
	// fill and spawn are faster than any disk: in bytes and in files a second.
	fill  = 8 << 30
	spawn = 1 << 20
)

// A disk is a file system that a command may write to. The size of a file is the
// kernel's to limit; how many there are is not, so the room that is left is
// watched.
type disk struct {
	at           string // some directory on it
	floor        int64  // bytes
	inodes       int64  // 0: not counted
	before, free int64
	left         int64 // inodes
}

// measure looks at the disk again. A disk that does not say is not watched.
func (d *disk) measure() bool {
	var s syscall.Statfs_t
	if err := syscall.Statfs(d.at, &s); err != nil || s.Blocks == 0 {
		return false
	}
	d.free, d.left = int64(s.Bavail)*int64(s.Bsize), int64(s.Ffree)
	if d.before == 0 {
		d.before = d.free
		d.floor = min(defaultFree, int64(s.Blocks)*int64(s.Bsize)/16)
		d.inodes = min(100_000, int64(s.Files)/16)
	}
	return true
}

// disks are those that a command of the policy may fill, each once.
func disks(p *sandbox.Policy, limitMB int) ([]*disk, error) {
	if limitMB < 0 {
		return nil, nil
	}
	dirs := append(slices.Clone(p.Write), p.Private)
	for _, c := range p.Caches {
		dirs = append(dirs, filepath.Dir(c.Upper))
	}
	seen := map[uint64]bool{}
	var out []*disk
	for _, dir := range dirs {
		info, err := os.Stat(dir)
		if err != nil {
			continue
		}
		st, ok := info.Sys().(*syscall.Stat_t)
		if !ok || seen[uint64(st.Dev)] {
			continue
		}
		seen[uint64(st.Dev)] = true
		d := &disk{at: dir}
		if !d.measure() {
			continue
		}
		if limitMB > 0 {
			d.floor = int64(limitMB) << 20
		}
		if d.free < d.floor/reserve {
			return nil, fmt.Errorf("the disk of %s has only %d MB free, and no command is started below %d MB; make room there, or lower sandbox.limits.free_mb", dir, d.free>>20, d.floor/reserve>>20)
		}
		// Where little is left to begin with, a command gets an eighth of it:
		// enough for one that makes room.
		d.floor = min(d.floor, d.free-d.free/8)
		d.inodes = min(d.inodes, d.left-d.left/8)
		out = append(out, d)
	}
	return out, nil
}

// crowded is why a command has to stop, "" if it need not, and when to look again.
func crowded(ds []*disk) (string, time.Duration) {
	next := 250 * time.Millisecond
	for _, d := range ds {
		if !d.measure() {
			continue
		}
		what := "MB free"
		was, is := d.before>>20, d.free>>20
		if d.free >= d.floor {
			after := float64(d.free-d.floor) / fill
			if d.inodes > 0 {
				after = min(after, float64(d.left-d.inodes)/spawn)
			}
			if after >= 0 {
				next = min(next, time.Duration(after*float64(time.Second)))
				continue
			}
			what, is, was = "files left", d.left, 0
		}
		why := fmt.Sprintf("the command was stopped because it left too little room on the disk of %s: %d %s", d.at, is, what)
		if was > 0 {
			why += fmt.Sprintf(", %d when it began", was)
		}
		return why + "; take away what it wrote there and is not needed, and write less", 0
	}
	return "", max(next, 5*time.Millisecond)
}
