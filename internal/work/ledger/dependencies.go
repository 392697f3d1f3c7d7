package ledger

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/adroit-run/adroit/internal/system/rootfs"
)

// maxDependencies bounds how many files of one directory named like one of dependencies are
// kept. Where there are more, the directory is named.
const maxDependencies = 1000

// cacheTag begins the file by which programs mark directories that can be made again,
// see https://bford.info/cachedir/.
const cacheTag = "Signature: 8a477f597d28d172789f06886806bc55"

// madeBy lists, for names of directories, files that tools put into them, or beside them, when
// they make them. The name alone is not evidence: people keep data in a directory called target,
// too.
var madeBy = map[string][]string{
	"node_modules": {".package-lock.json", ".yarn-integrity", ".yarn-state.yml", ".modules.yaml", "../bun.lock", "../bun.lockb"},
	"venv":         {"pyvenv.cfg"},
	".venv":        {"pyvenv.cfg"},
	".tox":         {"../tox.ini"},
	"target":       {".rustc_info.json", "maven-status", "maven-archiver"},
	".gradle":      {"buildOutputCleanup"},
}

// Dependencies knows which directories with names usual for dependencies were made by a tool,
// which can make them again.
type Dependencies struct {
	t    *rootfs.Tree
	made map[string]bool
}

// DependenciesOf looks at a tree as it is.
func DependenciesOf(t *rootfs.Tree) *Dependencies {
	return &Dependencies{t, map[string]bool{}}
}

// Of returns the directory of dependencies that contains a path, "" for none, and whether its
// content can be made again. Of several, it returns the first one for which it can, or the first.
func (d *Dependencies) Of(p string) (dir string, made bool) {
	for i, c := range p {
		if c != '/' || !slices.Contains(rootfs.DependencyDirs, path.Base(p[:i])) {
			continue
		}
		if d.Made(p[:i]) {
			return p[:i], true
		}
		if dir == "" {
			dir = p[:i]
		}
		if path.Base(p[:i]) == "__pycache__" && strings.HasSuffix(p, ".pyc") {
			return "", true
		}
	}
	return dir, false
}

// Made reports whether a tool has made a directory.
func (d *Dependencies) Made(dir string) bool {
	made, known := d.made[dir]
	if !known {
		made = path.Base(dir) == ".git" || d.tagged(dir) || slices.ContainsFunc(madeBy[path.Base(dir)], func(name string) bool {
			_, err := d.t.Stat(path.Join(dir, name))
			return err == nil
		})
		d.made[dir] = made
	}
	return made
}

func (d *Dependencies) tagged(dir string) bool {
	up, base, err := rootfs.OpenParent(d.t.FD(), path.Join(dir, "CACHEDIR.TAG"))
	if err != nil {
		return false
	}
	defer unix.Close(up)
	b, err := rootfs.ReadAt(up, base, 64<<10)
	return err == nil && strings.HasPrefix(string(b), cacheTag)
}

// An ignoredWalk lists the files in directories that git ignores.
type ignoredWalk struct {
	deps  *Dependencies
	names []string
	made  []string // directories that a tool has made, and can make again
	big   []string // others with more than maxDependencies
}

// visit lists a directory. In one of dependencies, end bounds the number of names, else it is 0.
func (w *ignoredWalk) visit(dir string, end int) (fits bool) {
	entries, _ := fs.ReadDir(w.deps.t.Root.FS(), dir) // in part, if that is what can be read
	for _, e := range entries {
		p := path.Join(dir, e.Name())
		switch {
		case !e.IsDir():
			if _, made := w.deps.Of(p); !made {
				w.names = append(w.names, p)
			}
			if end > 0 && len(w.names) > end {
				return false
			}
		case slices.Contains(rootfs.DependencyDirs, e.Name()) && (end == 0 || w.deps.Made(p)):
			w.dependency(p)
		case !w.visit(p, end):
			return false
		}
	}
	return true
}

// dependency lists the files in a directory of dependencies, or records the directory as a whole.
func (w *ignoredWalk) dependency(dir string) {
	if _, made := w.deps.Of(dir + "/x"); made {
		w.made = append(w.made, dir)
		return
	}
	if n := len(w.names); !w.visit(dir, n+maxDependencies) {
		w.names, w.big = w.names[:n], append(w.big, dir)
	}
}

// outside finds directories of dependencies outside of a repository, where nothing else lists
// them.
func (w *ignoredWalk) outside(dir string) {
	entries, _ := fs.ReadDir(w.deps.t.Root.FS(), dir)
	for _, e := range entries {
		switch p := path.Join(dir, e.Name()); {
		case !e.IsDir():
		case slices.Contains(rootfs.DependencyDirs, e.Name()):
			w.dependency(p)
		default:
			w.outside(p)
		}
	}
}

// Crowded returns the directories of dependencies with more files that a command removed or
// overwrote than are kept.
func (d *Dependencies) Crowded(names []string) map[string]bool {
	n, out := map[string]int{}, map[string]bool{}
	for _, p := range names {
		if dir, made := d.Of(p); dir != "" && !made {
			if n[dir]++; n[dir] > maxDependencies {
				out[dir] = true
			}
		}
	}
	return out
}

// isEmpty reports whether a directory is gone, or has nothing in it.
func isEmpty(t *rootfs.Tree, dir string) bool {
	entries, _ := fs.ReadDir(t.Root.FS(), dir)
	return len(entries) == 0
}
