package process

import (
	"errors"
	"io/fs"
	"path"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/adroit-run/adroit/internal/system/rootfs"
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
	execs []string         // programs that a rebase under way runs
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

const maxGitConfig = 1 << 20

// entry returns the entry of a git directory under a name, the zero found if there is none, and
// its target if it is a link.
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

// isWhole reports whether a git directory belongs to a repository and not to a linked work tree.
func (r *gitDir) isWhole() bool {
	to, err := rootfs.ReadAt(r.fd, "commondir", maxGitConfig)
	return len(to) == 0 && (err == nil || errors.Is(err, unix.ENOENT)) // empty: made to be locked
}

// rebaseExecs lists the programs that a rebase in progress runs.
func (r *gitDir) rebaseExecs() []string {
	dir, err := rootfs.OpenBeneath(r.fd, path.Dir(todoFile))
	if err != nil {
		return nil
	}
	defer unix.Close(dir)
	b, err := rootfs.ReadAt(dir, path.Base(todoFile), maxGitConfig)
	if err != nil {
		return nil
	}
	return execLines(b)
}

// Inside reports whether a work tree that the settings of a repository name lies
// in the tree.
func (r *gitDir) Inside(dir string) bool {
	_, ok := rootfs.Joined(r.scan.tree.Dir, r.rel, dir)
	return ok
}

// isRepo reports whether the tree itself is a git directory, such as that of a linked work tree.
func (s *scan) isRepo() bool {
	return s.repo || filepath.Base(s.tree.Dir) == ".git" && rootfs.IsGitDir(s.tree.FD())
}

// makeMissing makes those of gitNames that a git directory lacks. Where it cannot, those that a
// command makes are judged afterwards.
func makeMissing(fd int) {
	for _, name := range gitNames {
		switch {
		case name == "hooks":
			_ = rootfs.MkdirAt(fd, name, 0o755)
			continue
		case path.Dir(name) != ".":
			_ = rootfs.MkdirAt(fd, path.Dir(name), 0o755)
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

// eachRepo calls visit for a git directory and all git directories inside.
func eachRepo(fd int, rel string, kind gitKind, visit func(fd int, rel string, kind gitKind)) {
	visit(fd, rel, kind)
	rootfs.EachModule(fd, func(sub int, at string) { eachRepo(sub, path.Join(rel, at), gitModule, visit) })
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
			} else if e.IsDir() && depth < rootfs.MaxModule {
				if sub, err := rootfs.OpenDirAt(dir, e.Name()); err == nil {
					if !rootfs.IsGitDir(sub) {
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
