package process

import (
	"path"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/adroit-run/adroit/internal/system/rootfs"
)

// addGitFile protects a file named .git, which says where the repository is. Git
// rewrites those of submodules and linked work trees that are moved, so what
// became of them is judged afterwards. Others are locked.
func (p *protection) addGitFile(s *scan, f found) {
	p.backup(s, path.Dir(f.rel), ".git")
	if f.rel != ".git" {
		if b := p.backups; len(b) > 0 && b[len(b)-1].rel == f.rel {
			if to, ok := rootfs.GitDirOf(b[len(b)-1].held.Data); ok {
				if _, inside := rootfs.Joined(s.tree.Dir, path.Dir(f.rel), to); inside {
					return
				}
			}
		}
	}
	p.fixed = append(p.fixed, s.located(f))
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
	target, ok := p.target(s, f.rel)
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

// addRepo protects a git directory, those of its submodules, which git reads when
// it is asked about the one around, and those of its linked work trees.
func (p *protection) addRepo(s *scan, rel string, kind gitKind) {
	fd, err := rootfs.OpenBeneath(s.tree.FD(), rel)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	eachRepo(fd, rel, kind, func(fd int, rel string, kind gitKind) { p.addOne(s, fd, rel, kind) })
}

func (p *protection) addOne(s *scan, fd int, rel string, kind gitKind) {
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil || p.repos[rootfs.FileID(&st)] != nil {
		return
	}
	keep, err := rootfs.OpenDirAt(fd, ".")
	if err != nil {
		return
	}
	r := &gitDir{scan: s, rel: rel, fd: keep, kind: kind, had: map[string]found{}}
	p.repos[rootfs.FileID(&st)] = r
	if kind != gitWorktree { // git removes it with the work tree
		p.pinned = append(p.pinned, s.located(found{rel: rel, id: rootfs.FileID(&st)}))
	}
	if kind == gitMain && rootfs.IsGitDir(fd) {
		makeMissing(fd)
	}
	for _, name := range slices.Concat(gitNames, gitAbsent, gitDirs, []string{"gitdir"}) {
		f, link := r.entry(name)
		if f.id == (rootfs.ID{}) {
			continue
		}
		r.had[name] = f
		if link != "" {
			p.links[s.abs(f.rel)] = link
		}
		switch {
		case slices.Contains(gitDirs, name):
			if link != "" {
				p.backup(s, rel, name)
			}
		case link != "":
			p.addLink(s, f)
		case kind == gitWorktree, kind == gitModule && name == "config":
			// Git writes these when a work tree is moved.
			p.backup(s, rel, name)
		case name != "gitdir" && (f.kind == unix.S_IFREG || f.kind == unix.S_IFDIR):
			p.fixed = append(p.fixed, s.located(f))
			if p.everything {
				p.backup(s, rel, name)
			}
		}
	}
	eachInnerLink(fd, rel, func(_ int, rel, to string) {
		p.links[s.abs(rel)] = to
		p.backup(s, path.Dir(rel), path.Base(rel))
	})
	if config, err := rootfs.ReadAt(fd, "config", maxGitConfig); err == nil && kind == gitMain {
		r.hooks = rootfs.GitHooksPath(config)
		p.addHooks(s, r)
		p.addIncluded(s, rel, config, 0)
	}
	r.execs = r.rebaseExecs()
}

// maxInclude bounds how deep settings include each other, as git does.
const maxInclude = 10

// addIncluded protects the files of the tree that settings in a directory include.
func (p *protection) addIncluded(s *scan, dir string, config []byte, depth int) {
	if depth == maxInclude {
		return
	}
	for _, name := range rootfs.GitIncluded(config) {
		rel, ok := rootfs.Joined(s.tree.Dir, dir, name)
		if !ok || rel == "." {
			continue
		}
		p.linksOn(s, rel)
		real, err := s.tree.Resolve(rel, rel, true)
		if err != nil || real == "." {
			continue
		}
		f, exists := s.lookup(real)
		f.rel = real
		p.hooks = append(p.hooks, s.located(f))
		if !exists {
			continue
		}
		p.fix(s, f)
		p.pinAround(s, real)
		up, base, err := rootfs.OpenParent(s.tree.FD(), real)
		if err != nil {
			continue
		}
		b, err := rootfs.ReadAt(up, base, maxGitConfig)
		unix.Close(up)
		if err == nil {
			p.addIncluded(s, path.Dir(real), b, depth+1)
		}
	}
}

// addHooks protects the hooks that a repository's settings put elsewhere in the
// tree: husky's own files only run those of the directory around them.
func (p *protection) addHooks(s *scan, r *gitDir) {
	if r.hooks == "" {
		return
	}
	rel, ok := rootfs.Joined(s.tree.Dir, path.Dir(r.rel), r.hooks)
	if !ok || rel == "." {
		return
	}
	p.addPlace(s, rel)
}

// addOwn protects what lies in a tree of the places that programs outside of the sandbox
// are known to obey.
func (p *protection) addOwn(s *scan) {
	for _, o := range s.tree.Owned() {
		if o.Path != "." {
			p.addPlace(s, o.Path)
		}
	}
}

// addPlace protects a file or directory of a tree by where it is.
func (p *protection) addPlace(s *scan, rel string) {
	p.linksOn(s, rel)
	p.pinAround(s, rel)
	real, err := s.tree.Resolve(rel, rel, true)
	if err != nil || real == "." {
		return
	}
	if around := path.Dir(real); path.Base(real) == "_" && around != "." {
		real = around
	}
	dir, exists := s.lookup(real)
	dir.rel = real
	p.hooks = append(p.hooks, s.located(dir))
	if exists {
		p.fix(s, dir)
		p.pinAround(s, real)
	}
}
