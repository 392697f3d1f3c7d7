package rootfs

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/adroit-run/adroit/internal/system/hostexec"
)

// own has the places of files that programs outside of the sandbox obey: this program's
// configuration, agents, keys, hooks, and the settings of the user's shells. Names are not enough
// to find them: ~/.config/adroit may be a link into a workspace.
var own struct {
	sync.Mutex
	places []Place
	paths  []string // as they were passed to Own
	homes  []string // likewise to OwnStart
}

// A Place is a file, directory or link, identified by its location independently of links that
// lead there.
type Place struct {
	Path  string // absolute, its directory without links
	Asked bool   // may be written when a person has agreed; otherwise only by hand
}

// maxOwn bounds how many names are looked at for links in a directory of the program's own.
const maxOwn = 10_000

// maxStart likewise, in a directory of the user's settings, where programs keep their data too.
const maxStart = 2_000

// Own guards the program's own files and directories, and the targets of links in such a
// directory, however deep, together with the links on the way: whoever changes one of them makes
// us read another file. A path that does not exist is guarded as far as its directories exist. It
// applies to the whole process, permanently. It is safe for concurrent use.
func Own(paths ...string) {
	for _, p := range paths {
		if p != "" && filepath.IsAbs(p) {
			remember(&own.paths, p)
			guardBelow(guard(p, false), false, maxOwn)
		}
	}
}

// OwnAgain looks again at all that was passed to [Own] and [OwnStart]: links and
// directories that the user has made there since are guarded from now on.
func OwnAgain() {
	own.Lock()
	paths, homes := slices.Clone(own.paths), slices.Clone(own.homes)
	own.Unlock()
	Own(paths...)
	for _, home := range homes {
		OwnStart(home)
	}
}

func remember(list *[]string, path string) {
	own.Lock()
	defer own.Unlock()
	if !slices.Contains(*list, path) {
		*list = append(*list, path)
	}
}

// guardBelow guards the targets of links in a directory, and so on recursively, the nearest first,
// as far as left names go.
func guardBelow(dir string, asked bool, left int) {
	queue, seen := []string{dir}, map[string]bool{}
	for len(queue) > 0 {
		dir, queue = queue[0], queue[1:]
		if seen[dir] || everywhere(dir) {
			continue
		}
		seen[dir] = true
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue // a file, or not there
		}
		for _, e := range entries {
			if left--; left < 0 {
				return
			}
			switch at := filepath.Join(dir, e.Name()); {
			case e.IsDir():
				queue = append(queue, at)
			case e.Type()&os.ModeSymlink != 0:
				queue = append(queue, guard(at, asked))
			}
		}
	}
}

// everywhere reports whether a place is one that is nobody's own.
func everywhere(path string) bool { return path == "/" || strings.HasPrefix(path+"/", "/dev/") }

// guard guards all places on the way that a path leads, and returns the last.
func guard(path string, asked bool) (end string) {
	links, _ := hostexec.Links(path) // as far as it is known where it leads
	own.Lock()
	defer own.Unlock()
	for _, at := range links {
		switch p := (Place{at, asked}); {
		case everywhere(at) || slices.Contains(own.places, p):
		case asked:
			own.places = append(own.places, p)
		default: // the first place that fits counts, and a program's own is not asked about
			own.places = slices.Insert(own.places, 0, p)
		}
		end = at
	}
	return end
}

// OwnStart guards what lies elsewhere of what a user's shells, editors and other programs obey:
// the targets of links among the hidden names of the home, ~/bin, and in the directories of
// settings and programs there. Somebody may keep them in a repository, which is a workspace.
func OwnStart(home string) {
	remember(&own.homes, home)
	entries, _ := os.ReadDir(home) // in part, if that is what can be read
	for _, e := range entries {
		if e.Type()&os.ModeSymlink != 0 && (strings.HasPrefix(e.Name(), ".") || e.Name() == "bin") {
			guard(filepath.Join(home, e.Name()), true)
		}
	}
	for _, dir := range []string{".config", ".ssh", ".local/bin", ".vim", ".emacs.d", ".gnupg", "bin"} {
		guardBelow(filepath.Join(home, dir), true, maxStart)
	}
}

// Owned returns the guarded places in a tree, by their names relative to it; a place that contains
// the whole tree is ".".
func (t *Tree) Owned() (places []Place) {
	own.Lock()
	defer own.Unlock()
	for _, p := range own.places {
		switch rel, err := filepath.Rel(t.Dir, p.Path); {
		case Within(p.Path, t.Dir) && p.Asked: // whoever opens it as a workspace wants it changed
		case Within(p.Path, t.Dir):
			places = append(places, Place{".", false})
		case err == nil && filepath.IsLocal(rel):
			places = append(places, Place{filepath.ToSlash(rel), p.Asked})
		}
	}
	return places
}

// OwnedBy returns the place that p, a clean name, is of, by its path, as a directory around
// it, or as another name of the same file.
func (t *Tree) OwnedBy(p string) (Place, bool) {
	places := t.Owned()
	if len(places) == 0 {
		return Place{}, false
	}
	info, err := t.Root.Lstat(p)
	for _, o := range places {
		if o.Path == "." || Within(o.Path, p) || Within(p, o.Path) {
			return o, true
		}
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		if same, err := t.Root.Lstat(o.Path); err == nil && os.SameFile(same, info) {
			return o, true
		}
	}
	return Place{}, false
}
