package process

import (
	"path"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/adroit-run/adroit/internal/rootfs"
	"github.com/adroit-run/adroit/internal/workspace/sandbox"
)

// A protection is what commands must leave as it is in the trees that they may
// change, as it was found before one command. Everything is found and judged
// through the open directories of the trees; see beneath.go.
type protection struct {
	scans []*scan

	secret []found // not to be read
	fixed  []found // not to be changed
	pinned []found // directories to be written, not to be replaced
	masked []string

	before  map[string]found       // everything that was found, by absolute name
	configs map[sandbox.ID]found   // of them, what configures programs
	links   map[string]string      // links that were there, and where they led
	repos   map[sandbox.ID]*gitDir // git directories
	hooks   []found                // directories of hooks that settings name, without an ID where there is none
	backups []backup

	everything bool // keep what must not change, where the level cannot lock it
}

// protect looks through trees that commands may change. everything asks for a
// backup of all that must not change, for levels that do not lock it.
func protect(scans []*scan, everything bool) (*protection, error) {
	p := &protection{
		scans: scans, everything: everything, before: map[string]found{}, configs: map[sandbox.ID]found{}, links: map[string]string{}, repos: map[sandbox.ID]*gitDir{},
	}
	for _, s := range scans {
		if s.isRepo() {
			p.addRepo(s, ".", gitMain)
			continue
		}
		if err := s.update(); err != nil {
			p.Close()
			return nil, err
		}
		for f := range s.all {
			p.add(s, f)
		}
	}
	p.uncover()
	return p, nil
}

// uncover leaves out what lies in something that is covered: nothing in there can
// be reached, or mounted.
func (p *protection) uncover() {
	inSecret := func(f found) bool {
		return slices.ContainsFunc(p.masked, func(m string) bool { return m != f.rel && rootfs.Within(m, f.rel) })
	}
	p.secret = slices.DeleteFunc(p.secret, inSecret)
	covered := func(f found) bool { return slices.Contains(p.masked, f.rel) || inSecret(f) }
	p.fixed, p.pinned = slices.DeleteFunc(p.fixed, covered), slices.DeleteFunc(p.pinned, covered)
}

func (p *protection) Close() {
	for _, r := range p.repos {
		unix.Close(r.fd)
	}
}

// isRepo reports whether the tree itself is a git directory, as that of a linked
// work tree's is.
func (s *scan) isRepo() bool { return filepath.Base(s.tree.Dir) == ".git" && isGitDir(s.tree.FD()) }

// isGitDir reports whether an open directory looks like a git directory.
func isGitDir(fd int) bool {
	head, err := rootfs.StatAt(fd, "HEAD")
	if err != nil || rootfs.TypeOf(&head) == unix.S_IFDIR {
		return false
	}
	_, objects := rootfs.StatAt(fd, "objects")
	_, common := rootfs.StatAt(fd, "commondir")
	return objects == nil || common == nil
}

func (p *protection) add(s *scan, f found) {
	at := s.abs(f.rel)
	p.before[at] = f
	switch {
	case f.what == rootfs.GitEntry && slices.ContainsFunc(p.masked, func(m string) bool { return rootfs.Within(m, at) }):
		return // no command can see it, and it stays what it is
	case f.what == rootfs.GitEntry && f.kind == unix.S_IFDIR:
		kind := gitMain
		if path.Base(f.rel) != ".git" {
			kind = gitBare
		}
		p.addRepo(s, f.rel, kind)
		return
	case f.kind == unix.S_IFLNK:
		p.addLink(s, f)
		return
	case f.what == rootfs.GitEntry && f.kind == unix.S_IFREG:
		p.addGitFile(s, f)
		return
	case f.kind != unix.S_IFREG && f.kind != unix.S_IFDIR:
		return
	}
	if f.what.Secret() {
		p.secret = append(p.secret, s.located(f))
		p.masked = append(p.masked, at)
	}
	if f.what.Config() {
		p.configs[f.id] = f
		p.fix(s, f)
	}
}

// located is f with its absolute name.
func (s *scan) located(f found) found {
	f.rel = s.abs(f.rel)
	return f
}

// fix has a file or directory of a tree locked, or kept.
func (p *protection) fix(s *scan, f found) {
	if !f.what.Secret() { // what is covered cannot be changed
		p.fixed = append(p.fixed, s.located(f))
	}
	if p.everything {
		p.backup(s, path.Dir(f.rel), path.Base(f.rel))
	}
}

// backup keeps what lies at below in the directory dir.
func (p *protection) backup(s *scan, dir, below string) {
	b := backup{scan: s, rel: path.Join(dir, below), below: below}
	fd, err := rootfs.OpenBeneath(s.tree.FD(), dir)
	if err != nil {
		return // gone since: the command finds nothing there either
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil {
		return
	}
	b.anchor = rootfs.FileID(&st)
	at, err := rootfs.OpenBeneath(fd, path.Dir(below))
	if err != nil {
		return
	}
	defer unix.Close(at)
	left := int64(maxBackup)
	if b.held, err = readNode(at, path.Base(below), &left); err == nil || b.held == nil {
		p.backups = append(p.backups, b)
	}
}

// addLink notes a link in the place of something that needs protection. The link
// cannot be locked, so it is kept; what it leads to in the tree is protected there.
func (p *protection) addLink(s *scan, f found) {
	dir, base, err := rootfs.OpenParent(s.tree.FD(), f.rel)
	if err != nil {
		return
	}
	to, err := rootfs.LinkAt(dir, base)
	unix.Close(dir)
	if err != nil {
		return
	}
	p.links[s.abs(f.rel)] = to
	if f.what != rootfs.SecretName {
		p.backup(s, path.Dir(f.rel), base)
	}
	target, ok := p.follow(s, f.rel)
	if !ok {
		return
	}
	switch {
	case f.what == rootfs.GitEntry && target.kind == unix.S_IFDIR:
		p.addRepo(s, target.rel, gitBare)
	case f.what.Secret():
		p.secret = append(p.secret, s.located(target))
		p.masked = append(p.masked, s.abs(target.rel))
	case f.what.Config():
		p.fix(s, target)
		p.pinAround(s, target.rel)
	}
}

// follow finds what a name leads to in its tree.
func (p *protection) follow(s *scan, rel string) (found, bool) {
	real, err := s.tree.Resolve(rel, rel, true)
	if err != nil || real == "." {
		return found{}, false
	}
	return s.lookup(real)
}

// lookup is what lies at a name of the tree that has no links in it.
func (s *scan) lookup(rel string) (found, bool) {
	dir, base, err := rootfs.OpenParent(s.tree.FD(), rel)
	if err != nil {
		return found{}, false
	}
	defer unix.Close(dir)
	st, err := rootfs.StatAt(dir, base)
	if err != nil || rootfs.TypeOf(&st) != unix.S_IFREG && rootfs.TypeOf(&st) != unix.S_IFDIR {
		return found{}, false
	}
	return found{rel: rel, kind: rootfs.TypeOf(&st), id: rootfs.FileID(&st)}, true
}

// pinAround keeps the directories around a protected one from being replaced
// with it.
func (p *protection) pinAround(s *scan, rel string) {
	for up := path.Dir(rel); up != "."; up = path.Dir(up) {
		if f, ok := s.lookup(up); ok {
			p.pinned = append(p.pinned, s.located(f))
		}
	}
}
