package process

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/adroit-run/adroit/internal/system/rootfs"
)

// removed is where what commands must not leave is kept. It is safe for
// concurrent use if calls of take are not concurrent.
type removed struct {
	dir    string // made when it is needed; empty: a new temporary one
	number int
}

// take moves what a name stands for, a link as such, and returns where it is.
func (r *removed) take(dir int, name string) (string, error) {
	if r.dir == "" {
		dir, err := os.MkdirTemp("", "adroit-removed-")
		if err != nil {
			return "", err
		}
		r.dir = dir
	}
	if err := os.MkdirAll(r.dir, 0o700); err != nil {
		return "", err
	}
	to, err := unix.Open(r.dir, rootfs.PathOnly|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(to)
	for {
		r.number++
		own := fmt.Sprintf("%d-%s", r.number, name)
		if _, err := rootfs.StatAt(to, own); err == nil {
			continue
		}
		return filepath.Join(r.dir, own), rootfs.MoveAt(dir, name, to, own)
	}
}

// A check looks at the trees after a command, takes away what must not be there,
// and puts back what must not have changed.
type check struct {
	*protection
	removed *removed
	hold    func(rel, to string) bool

	repos []*gitDir // those of now; had is of before, nil for new ones
	known map[rootfs.ID]bool
	notes []string
}

func (c *check) Note(format string, args ...any) {
	c.notes = append(c.notes, fmt.Sprintf(format, args...))
}

// take moves the file of a name to where removed files are kept, and notes it.
func (c *check) take(s *scan, dir int, rel, why string) {
	to, err := c.removed.take(dir, path.Base(rel))
	switch {
	case errors.Is(err, unix.ENOENT):
	case err != nil:
		c.Note("%s was made by the command, may run code on this machine, and could not be taken away: %v", s.abs(rel), err)
	case s == c.scans[0] && c.hold(rel, to): // which a person is asked about
	default:
		c.Note("%s was made by the command and taken away to %s, since it %s", s.abs(rel), to, why)
	}
}
