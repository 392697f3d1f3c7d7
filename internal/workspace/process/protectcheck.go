package process

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/adroit-run/adroit/internal/rootfs"
	"github.com/adroit-run/adroit/internal/workspace/sandbox"
)

// A check looks at the trees after a command, takes away what must not be there,
// and puts back what must not have changed.
type check struct {
	*protection
	removed *removed

	repos []*gitDir // those of now; had is of before, nil for new ones
	known map[sandbox.ID]bool
	notes []string
}

// maxNotes bounds how many things a note names.
const maxNotes = 20

// check ends the protection of a command. It returns what it did in words for the
// reader of the output.
func (p *protection) check(to *removed) string {
	defer p.Close()
	c := &check{protection: p, removed: to, known: map[sandbox.ID]bool{}}
	defer c.closeRepos()
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
	if n := len(c.notes) - maxNotes; n > 0 {
		c.notes = append(c.notes[:maxNotes], fmt.Sprintf("and %d more like these", n))
	}
	return strings.Join(c.notes, "; ")
}

func (c *check) Note(format string, args ...any) {
	c.notes = append(c.notes, fmt.Sprintf(format, args...))
}

// hidden reports whether a git directory was there before in something that no
// command can see.
func (c *check) hidden(s *scan, f found) bool {
	at := s.abs(f.rel)
	return c.before[at].id == f.id && slices.ContainsFunc(c.masked, func(m string) bool { return rootfs.Within(m, at) })
}

// take moves the file of a name to where removed files are kept, and notes it.
func (c *check) take(s *scan, dir int, rel, why string) {
	to, err := c.removed.take(dir, path.Base(rel))
	switch {
	case errors.Is(err, unix.ENOENT):
	case err != nil:
		c.Note("%s was made by the command, may run code on this machine, and could not be taken away: %v", s.abs(rel), err)
	default:
		c.Note("%s was made by the command and taken away to %s, since it %s", s.abs(rel), to, why)
	}
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

// stays reports whether an entry that configures programs was locked while the
// command ran, or holds what it held.
func (c *check) stays(at string, was, now found) bool {
	switch {
	case was.kind != now.kind:
		return false
	case c.everything:
		return c.unchanged(at)
	}
	return true
}

// unchanged reports whether a file holds what its backup does.
func (c *check) unchanged(at string) bool {
	for _, b := range c.backups {
		if b.scan.abs(b.rel) == at {
			n, err := b.now()
			return err == nil && n.same(b.held) || errors.Is(err, errTooLarge) && b.held == nil
		}
	}
	return false
}

// leadsHere reports whether a file named .git names a git directory that is
// protected or was judged.
func (c *check) leadsHere(s *scan, dir int, f found) bool {
	b, err := rootfs.ReadAt(dir, path.Base(f.rel), rootfs.MaxName)
	if err != nil {
		return false
	}
	to, ok := gitDirOf(b)
	if !ok {
		return false
	}
	if path.IsAbs(to) && slices.ContainsFunc(c.backups, func(k backup) bool { return path.Base(k.rel) == ".git" && k.held != nil && bytes.Equal(k.held.data, b) }) {
		return true // moved with its directory
	}
	if !path.IsAbs(to) {
		to = path.Join(s.tree.Dir, path.Dir(f.rel), to)
	}
	for _, t := range c.scans {
		rel, ok := joined(t.tree.Dir, ".", to)
		if !ok {
			continue
		}
		for _, r := range c.repos {
			if fd, err := rootfs.OpenBeneath(t.tree.FD(), rel); err == nil {
				var st unix.Stat_t
				err := unix.Fstat(r.fd, &st)
				same := err == nil && rootfs.SameDir(fd, rootfs.FileID(&st))
				unix.Close(fd)
				if same {
					return c.judgeWorktree(s, path.Dir(f.rel), r)
				}
			}
		}
	}
	return false
}

// refuses says why what a command made must not come into the workspace, "" if
// it may. It lies in an open directory outside of the workspace by now, under
// the base name of rel.
func (p *protection) refuses(dir int, rel string) string {
	names := p.scans[0].names
	if !names.Maybe(rootfs.Fold(path.Base(rel))) || !names.Class(rel).Config() || (&check{protection: p}).copyOf(dir, path.Base(rel)) {
		return ""
	}
	return rootfs.Refusal(rel)
}

// nested reports whether there is a repository below the workspace's own. Its
// directory is mounted by itself, so that on an overlay the directories around
// it could not be renamed.
func (p *protection) nested() bool {
	for _, r := range p.repos {
		if r.rel != "." && r.kind != gitModule && r.kind != gitWorktree && path.Dir(r.rel) != "." {
			return true
		}
	}
	return false
}
