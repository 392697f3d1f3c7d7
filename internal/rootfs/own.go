package rootfs

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// own has the places of what programs outside of the sandbox obey: this program's
// configuration, agents, keys, hooks, and the user's settings of shells. A name does
// not find them: ~/.config/adroit may lead to a workspace by a link.
var own struct {
	sync.Mutex
	places []Place
}

// A Place is a file or directory that is known by where it is, whatever leads there.
type Place struct {
	Path  string // absolute, without links
	Asked bool   // may be written when a person has agreed; otherwise only by hand
}

// Own guards files and directories of the program's own, and what links in a directory of
// them lead to. What is not there is guarded as far as its directory is. It holds for the
// whole process and for good. It is safe for concurrent use.
func Own(paths ...string) {
	for _, p := range paths {
		if p == "" || !filepath.IsAbs(p) {
			continue
		}
		guard(Place{Path: p})
		entries, err := os.ReadDir(p)
		if err != nil {
			continue // a file, or not there
		}
		for _, e := range entries {
			if e.Type()&os.ModeSymlink != 0 {
				guard(Place{Path: filepath.Join(p, e.Name())})
			}
		}
	}
}

func guard(p Place) {
	real, err := Real(p.Path)
	if err != nil || real == "/" || strings.HasPrefix(real, "/dev/") {
		return
	}
	p.Path = real
	own.Lock()
	defer own.Unlock()
	if !slices.Contains(own.places, p) {
		own.places = append(own.places, p)
	}
}

// OwnStart guards what the links of names in a user's home lead to, of those names that
// shells and other programs obey when they start.
func OwnStart(home string) {
	for _, name := range askedNames {
		at := filepath.Join(home, name)
		if info, err := os.Lstat(at); err == nil && info.Mode()&os.ModeSymlink != 0 {
			guard(Place{Path: at, Asked: true})
		}
	}
}

// Owned are the places in a tree, by their names relative to it; of those around the whole
// tree ".".
func (t *Tree) Owned() (places []Place) {
	own.Lock()
	defer own.Unlock()
	for _, p := range own.places {
		switch rel, err := filepath.Rel(t.Dir, p.Path); {
		case Within(p.Path, t.Dir):
			places = append(places, Place{".", p.Asked})
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
