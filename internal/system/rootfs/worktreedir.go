package rootfs

import (
	"os"
	"path/filepath"
	"strings"
)

// WorktreePath is where a path that was recorded for the worktree of a job, or of one of its
// sub-agents, is now: these are in data/worktrees, by the id of their job. A data directory
// that was moved, or restored elsewhere, has records of where it was.
func WorktreePath(data, id, path string) string {
	const list = string(filepath.Separator) + "worktrees" + string(filepath.Separator)
	was, below, ok := strings.Cut(path, list+id)
	if !ok || id == "" || data == "" || was == filepath.Clean(data) || below != "" && below[0] != filepath.Separator && below[0] != '-' {
		return path
	}
	a, err := os.Stat(was)
	if b, now := os.Stat(data); err == nil && now == nil && os.SameFile(a, b) { // by a link
		return path
	}
	return filepath.Join(data, "worktrees", id+below)
}
