package process

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"golang.org/x/sys/unix"
)

// check ends the protection of a command. It returns notes about its actions for the reader of the
// output, except for files that hold takes: hold gets the name in the workspace of a file that was
// moved away, and its new place.
func (p *protection) check(to *removed, hold func(rel, to string) bool) string {
	defer p.Close()
	c := &check{protection: p, removed: to, hold: hold, known: map[rootfs.ID]bool{}}
	defer c.closeRepos()
	c.restoreStores(false)
	for _, s := range p.scans {
		if s.isRepo() {
			c.addRepos(s, ".", gitMain)
			continue
		}
		if err := s.update(); err != nil {
			c.Note("%v; what the command made there was not looked at", err)
		}
		for f := range s.all {
			if f.what == rootfs.GitEntry && f.kind == unix.S_IFDIR && !c.hidden(s, f) {
				kind := gitMain
				if path.Base(f.rel) != ".git" {
					kind = gitBare
				}
				c.addRepos(s, f.rel, kind)
			}
		}
	}
	for _, b := range p.backups {
		c.restore(b)
	}
	for _, r := range c.repos {
		if r.had == nil && r.kind == gitMain && r.scan == c.scans[0] {
			c.made = append(c.made, r.rel)
		}
		c.judgeRepo(r)
	}
	for _, s := range p.scans {
		for f := range s.all {
			c.judge(s, f)
		}
	}
	for _, h := range p.hooks {
		c.judgeHooksPath(h)
	}
	c.restoreStores(true)
	if n := len(c.notes) - maxNotes; n > 0 {
		c.notes = append(c.notes[:maxNotes], fmt.Sprintf("and %d more like these", n))
	}
	return strings.Join(c.notes, "; ")
}

// hidden reports whether a git directory was there before in something that no
// command can see.
func (c *check) hidden(s *scan, f found) bool {
	at := s.abs(f.rel)
	return c.before[at].id == f.id && slices.ContainsFunc(c.masked, func(m string) bool { return rootfs.Within(m, at) })
}

// judge takes away one entry of a tree if it may not be there.
func (c *check) judge(s *scan, f found) {
	at := s.abs(f.rel)
	was, there := c.before[at]
	dir, base, err := rootfs.OpenParent(s.tree.FD(), f.rel)
	if err != nil {
		return
	}
	defer unix.Close(dir)
	st, err := rootfs.StatAt(dir, base) // what was put back is not what the scan saw
	if err != nil {
		return
	}
	f.kind, f.id = rootfs.TypeOf(&st), rootfs.FileID(&st)
	switch {
	case f.kind == unix.S_IFLNK:
		to, err := rootfs.LinkAt(dir, base)
		if old, linked := c.links[at]; f.what != rootfs.SecretName && (err != nil || !linked || old != to) {
			c.take(s, dir, f.rel, rootfs.Refusal(f.rel))
		}
	case f.what == rootfs.GitEntry && (f.kind == unix.S_IFDIR || c.hidden(s, f)):
		// see judgeRepo
	case f.what == rootfs.GitEntry:
		if !(there && was.id == f.id && c.unchanged(at)) && !c.leadsHere(s, dir, f) {
			c.take(s, dir, f.rel, rootfs.ConfiguresPrograms)
		}
	case !f.what.Config() || c.stays(at, was, f):
	default:
		if _, moved := c.configs[f.id]; !(moved && !c.everything) && !c.copyOf(dir, base) {
			c.take(s, dir, f.rel, rootfs.Refusal(f.rel))
		}
	}
}

// stays reports whether an entry that configures programs was locked while the command ran, or has
// its old content.
func (c *check) stays(at string, was, now found) bool {
	switch {
	case was.kind != now.kind:
		return false
	case c.everything:
		return c.unchanged(at)
	}
	return true
}

// refuses explains why a command's file must not come into the workspace, or returns "". The file
// lies in an open directory outside of the workspace by now, under the base name of rel.
func (p *protection) refuses(dir int, rel string) string {
	names := p.scans[0].names
	if !names.Maybe(rootfs.Fold(path.Base(rel))) || !names.Class(rel).Config() || (&check{protection: p}).copyOf(dir, path.Base(rel)) {
		return ""
	}
	return rootfs.Refusal(rel)
}

// copyOf reports whether a new entry is a copy of one that was there before, or
// is it under another name.
func (c *check) copyOf(dir int, base string) bool {
	left := int64(maxBackup)
	n, err := readNode(dir, base, &left)
	if err != nil {
		return false
	}
	for _, b := range c.backups {
		if path.Base(b.rel) == base && b.held.same(n) {
			return true
		}
	}
	for at, f := range c.before {
		if c.everything || !f.what.Config() || path.Base(at) != base {
			continue
		}
		for _, s := range c.scans {
			rel, ok := rootfs.Joined(s.tree.Dir, ".", at)
			if !ok {
				continue
			}
			if up, name, err := rootfs.OpenParent(s.tree.FD(), rel); err == nil {
				left := int64(maxBackup)
				o, err := readNode(up, name, &left)
				unix.Close(up)
				if err == nil && o.same(n) {
					return true
				}
			}
		}
	}
	return false
}

// removed is the directory for files that a command must not leave in the workspace. It is safe
// for concurrent use if calls of take are not concurrent.
type removed struct {
	dir    string // made when it is needed; empty: a new temporary one
	number int
}

// take moves the file of a name, a link as such, and returns its new place.
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

// A check inspects the trees after a command, removes forbidden files, and restores files that
// must not have changed.
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
		if len(c.lost) < maxNotes {
			c.lost = append(c.lost, fmt.Sprintf("%s, which a command made, is kept in %s, since it %s", s.abs(rel), to, why))
		}
	}
}
