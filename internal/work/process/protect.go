package process

import (
	"path"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/adroit-run/adroit/internal/system/rootfs"
)

// protect looks through trees that commands may change. everything asks for a
// backup of all that must not change, for levels that do not lock it.
// beside is a tree around them that commands may read, nil if there is none; top
// is that of the work tree. baselines is where the commands of all processes
// note what they found.
func protect(scans []*scan, beside *scan, top, baselines string, everything bool) (_ *protection, err error) {
	p := &protection{
		scans: scans, everything: everything, before: map[string]found{}, configs: map[rootfs.ID]found{}, links: map[string]string{}, repos: map[rootfs.ID]*gitDir{},
	}
	defer func() {
		if err != nil {
			p.Close()
		}
	}()
	if p.shared, err = openBaseline(baselines, scans); err != nil {
		return nil, err
	}
	for _, s := range scans {
		if s.isRepo() {
			p.addRepo(s, ".", gitMain)
			continue
		}
		if err := s.update(); err != nil {
			return nil, err
		}
		for f := range s.all {
			p.add(s, f)
		}
		p.addOwn(s)
	}
	if err := p.addOuter(beside, top); err != nil {
		return nil, err
	}
	p.uncover()
	return p, p.share()
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
