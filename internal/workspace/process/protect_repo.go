package process

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/adroit-run/adroit/internal/rootfs"
	"github.com/adroit-run/adroit/internal/workspace/sandbox"
)

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
