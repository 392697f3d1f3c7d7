package jobdir

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/system/rootfs"
)

// Origin is the work tree that the one of a job was made from, if dir is in one
// that a job was given: what the operator trusts there is trusted in it.
func Origin(data, dir string) (string, error) {
	data, err := filepath.EvalSymlinks(data)
	if err != nil {
		return "", nil // nothing was made yet
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	rel, err := filepath.Rel(filepath.Join(data, "worktrees"), dir)
	if err != nil || !filepath.IsLocal(rel) || rel == "." {
		return "", nil
	}
	id, _, _ := strings.Cut(filepath.ToSlash(rel), "/")
	if id, name, ok := strings.Cut(id, "-"); ok { // of a sub-agent
		c, err := FindTree(data, id, name)
		if err != nil || c == nil {
			return "", err
		}
		if c.Plain {
			from, err := Origin(data, c.From)
			return cmp.Or(from, c.From), err
		}
		return c.Tree.Repo, nil
	}
	w, err := OpenWorktree(data, id)
	if err != nil || w == nil {
		return "", err
	}
	return w.Repo, nil
}

// Project is the project that dir is in, and where in it: the top of its work
// tree, or for a worktree that of the repository it was made from.
func Project(data, dir string) (project, sub string, err error) {
	if dir, err = rootfs.Real(dir); err != nil {
		return "", "", err
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return "", "", problem.Invalidf("", "there is no directory %s", dir)
	}
	top, ok := rootfs.Repository(dir)
	if !ok {
		top = dir
	}
	if sub, err = filepath.Rel(top, dir); err != nil {
		return "", "", err
	}
	if from, err := Origin(data, dir); err == nil && from != "" {
		if from, err = rootfs.Real(from); err == nil {
			return from, sub, nil
		}
	}
	return mainTree(top), sub, nil
}

// mainTree is the work tree that a linked one of git belongs to, or top itself.
func mainTree(top string) string {
	b, err := fs.ReadFile(rootfs.DirFS(top), ".git")
	if err != nil {
		return top // a directory: it is the main one
	}
	git, ok := strings.CutPrefix(strings.TrimSpace(string(b)), "gitdir: ")
	if !ok {
		return top
	}
	if !filepath.IsAbs(git) {
		git = filepath.Join(top, git)
	}
	if repo, _, ok := strings.Cut(filepath.ToSlash(git), "/.git/worktrees/"); ok {
		if repo, err := rootfs.Real(filepath.FromSlash(repo)); err == nil {
			return repo
		}
	}
	return top
}
