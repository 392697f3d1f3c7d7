package rootfs

import (
	"path"
	"strings"
)

// GitDirAround is the directory around p, a clean name, that git takes for a repository of
// its own whatever its name, or would take for one if there were something at p; "" if
// there is none. Its settings and hooks are programs that git runs for whoever is in it.
// look reports whether there is something of a name, and whether it is a directory.
func GitDirAround(p string, look func(name string) (there, dir bool)) string {
	for dir := path.Dir(p); ; dir = path.Dir(dir) {
		below := strings.TrimPrefix(p, dir+"/")
		if dir == "." {
			below = p
		}
		first, _, deeper := strings.Cut(below, "/")
		has := func(name string) bool {
			if Fold(first) == strings.ToLower(name) {
				return name != "HEAD" || !deeper
			}
			there, isDir := look(path.Join(dir, name))
			return there && (name != "HEAD" || !isDir)
		}
		if has("HEAD") && (has("objects") && has("refs") || has("commondir")) {
			return dir
		}
		if dir == "." {
			return ""
		}
	}
}

// GitDirWith is GitDirAround for what is in the tree.
func (t *Tree) GitDirWith(p string) string {
	return GitDirAround(p, func(name string) (there, dir bool) {
		info, err := t.Root.Lstat(name)
		return err == nil, err == nil && info.IsDir()
	})
}
