package process

import (
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

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

// A gitDir is a git directory that was there before a command. It is kept open:
// as long as it is, no other gets its number, so that it is known wherever it is
// moved.
type gitDir struct {
	scan  *scan
	rel   string
	fd    int
	kind  gitKind
	had   map[string]found // of gitNames and gitDirs, what was there
	hooks string           // core.hooksPath
}

type gitKind int

const (
	gitMain     gitKind = iota // named .git
	gitBare                    // with its work tree elsewhere or without one
	gitModule                  // of a submodule, below modules
	gitWorktree                // of a linked work tree, below worktrees
)

// In a git directory, these make git run something or read settings from
// somewhere else. Those of the first list are made where they are not there,
// empty, which git takes for not there: then they can be locked.
var (
	gitNames  = []string{"config", "config.worktree", "hooks", "info/attributes"}
	gitAbsent = []string{"commondir"}
	gitDirs   = []string{"info", "modules", "worktrees"}
)

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

// addGitFile protects a file named .git, which says where the repository is. Git
// rewrites those of submodules and linked work trees that are moved, so what
// became of them is judged afterwards. Others are locked.
func (p *protection) addGitFile(s *scan, f found) {
	p.backup(s, path.Dir(f.rel), ".git")
	if f.rel != ".git" {
		if b := p.backups; len(b) > 0 && b[len(b)-1].rel == f.rel {
			if to, ok := gitDirOf(b[len(b)-1].held.data); ok {
				if _, inside := joined(s.tree.Dir, path.Dir(f.rel), to); inside {
					return
				}
			}
		}
	}
	p.fixed = append(p.fixed, s.located(f))
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
	if kind == gitMain && isGitDir(fd) {
		makeMissing(fd)
	}
	for _, name := range slices.Concat(gitNames, gitAbsent, gitDirs, []string{"gitdir"}) {
		f, link := r.entry(name)
		if f.id == (sandbox.ID{}) {
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
		r.hooks = hooksPath(config)
		p.addHooks(s, r)
	}
}

const maxGitConfig = 1 << 20

// entry is what a git directory has under a name, the zero found if it has
// nothing; link is where it leads if it is one.
func (r *gitDir) entry(name string) (f found, link string) {
	dir, err := rootfs.OpenBeneath(r.fd, path.Dir(name))
	if err != nil {
		return found{}, ""
	}
	defer unix.Close(dir)
	st, err := rootfs.StatAt(dir, path.Base(name))
	if err != nil {
		return found{}, ""
	}
	f = found{rel: path.Join(r.rel, name), what: rootfs.ConfigName, kind: rootfs.TypeOf(&st), id: rootfs.FileID(&st)}
	if f.kind == unix.S_IFLNK {
		link, _ = rootfs.LinkAt(dir, path.Base(name))
	}
	return f, link
}

// makeMissing makes what a git directory lacks of gitNames. Where it cannot, what
// a command makes is judged afterwards.
func makeMissing(fd int) {
	for _, name := range gitNames {
		switch {
		case name == "hooks":
			_ = unix.Mkdirat(fd, name, 0o755)
			continue
		case path.Dir(name) != ".":
			_ = unix.Mkdirat(fd, path.Dir(name), 0o755)
		}
		dir, err := rootfs.OpenBeneath(fd, path.Dir(name))
		if err != nil {
			continue
		}
		if f, err := rootfs.OpenAt(dir, path.Base(name), unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL, 0o644); err == nil {
			unix.Close(f)
		}
		unix.Close(dir)
	}
}

// addHooks protects the hooks that a repository's settings put elsewhere in the
// tree: husky's own files only run those of the directory around them.
func (p *protection) addHooks(s *scan, r *gitDir) {
	if r.hooks == "" {
		return
	}
	rel, ok := joined(s.tree.Dir, path.Dir(r.rel), r.hooks)
	if !ok || rel == "." {
		return
	}
	p.linksOn(s, rel)
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

// linksOn keeps the links on the way to a protected name.
func (p *protection) linksOn(s *scan, rel string) {
	at := "."
	for part := range strings.SplitSeq(rel, "/") {
		at = path.Join(at, part)
		dir, base, err := rootfs.OpenParent(s.tree.FD(), at)
		if err != nil {
			return // behind a link: what is there is found by its own name
		}
		to, err := rootfs.LinkAt(dir, base)
		unix.Close(dir)
		if err == nil {
			p.links[s.abs(at)] = to
			p.backup(s, path.Dir(at), base)
		}
	}
}

// eachRepo calls visit for a git directory and all git directories inside.
func eachRepo(fd int, rel string, kind gitKind, visit func(fd int, rel string, kind gitKind)) {
	visit(fd, rel, kind)
	if modules, err := rootfs.OpenDirAt(fd, "modules"); err == nil {
		eachModule(modules, path.Join(rel, "modules"), 0, visit)
		unix.Close(modules)
	}
	if kind == gitWorktree {
		return
	}
	rootfs.EachDir(fd, "worktrees", func(sub int, name string) {
		eachRepo(sub, path.Join(rel, "worktrees", name), gitWorktree, visit)
	})
}

// eachInnerLink calls visit for links where git directories inside of one are:
// eachRepo does not follow them, but git would.
func eachInnerLink(fd int, rel string, visit func(dir int, rel, to string)) {
	var walk func(dir int, rel string, depth int)
	walk = func(dir int, rel string, depth int) {
		entries, _ := rootfs.ListAt(dir) // in part, if that is what can be read
		for _, e := range entries {
			at := path.Join(rel, e.Name())
			if e.Type()&fs.ModeSymlink != 0 {
				if to, err := rootfs.LinkAt(dir, e.Name()); err == nil {
					visit(dir, at, to)
				}
			} else if e.IsDir() && depth < maxModule {
				if sub, err := rootfs.OpenDirAt(dir, e.Name()); err == nil {
					if !isGitDir(sub) {
						walk(sub, at, depth+1)
					}
					unix.Close(sub)
				}
			}
		}
	}
	for _, name := range []string{"modules", "worktrees"} {
		if dir, err := rootfs.OpenDirAt(fd, name); err == nil {
			walk(dir, path.Join(rel, name), 0)
			unix.Close(dir)
		}
	}
}

// maxModule bounds the slashes in the name of a submodule.
const maxModule = 64

// eachModule goes through the repositories of submodules, which may have slashes
// in their names.
func eachModule(modules int, rel string, depth int, visit func(fd int, rel string, kind gitKind)) {
	rootfs.EachDir(modules, ".", func(sub int, name string) {
		at := path.Join(rel, name)
		switch {
		case isGitDir(sub):
			eachRepo(sub, at, gitModule, visit)
		case depth < maxModule:
			eachModule(sub, at, depth+1, visit)
		}
	})
}
