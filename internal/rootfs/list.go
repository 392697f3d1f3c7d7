package rootfs

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// MaxNames bounds the names that are looked at for a list.
const MaxNames = 1_000_000

// ListFiles lists the files below dir that are not ignored, as git has it if the
// tree is in a repository.
func (t *Tree) ListFiles(ctx context.Context, dir string) (names []string, more bool, err error) {
	if out, err := t.gitNames(ctx, dir); err == nil && len(out) > 0 {
		for name := range bytes.SplitSeq(out, []byte{0}) {
			if len(name) == 0 {
				continue
			}
			if len(names) == MaxNames {
				return names, true, nil
			}
			names = append(names, strings.TrimSuffix(string(name), "/"))
		}
		return names, false, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	return t.Walk(ctx, dir)
}

// gitNames asks git. It runs no code of the repository: ls-files knows no
// filters, and the file system monitor is switched off.
func (t *Tree) gitNames(ctx context.Context, dir string) ([]byte, error) {
	if _, _, ok := t.Repository(); !ok {
		return nil, errors.New("not in a repository")
	}
	out := LimitedBuffer{Max: 256 * MaxNames}
	err := RunGit(ctx, t.Dir, nil, nil, &out, "ls-files", "-co", "--exclude-standard", "--deduplicate", "-z", "--", ":(literal)"+dir)
	return out.Buffer.Bytes(), err
}

// DependencyDirs are directories that hold no work of the user's.
var DependencyDirs = []string{".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", "venv", ".tox", ".mypy_cache", ".cache", "target", ".gradle"}

// Walk lists the files below dir without asking git.
func (t *Tree) Walk(ctx context.Context, dir string) (names []string, more bool, err error) {
	err = fs.WalkDir(t.Root.FS(), dir, func(p string, d fs.DirEntry, err error) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		switch {
		case err != nil && p == dir:
			return t.Explain(dir, err)
		case err != nil:
			return nil // unreadable, or gone since
		case d.IsDir() && p != dir && slices.Contains(DependencyDirs, d.Name()):
			return fs.SkipDir
		case d.IsDir():
			return nil
		case len(names) == MaxNames:
			more = true
			return fs.SkipAll
		}
		names = append(names, p)
		return nil
	})
	return names, more, err
}

// Repository finds the repository that the tree is in: its top, and where in it
// the tree is.
func (t *Tree) Repository() (top, sub string, ok bool) {
	for d := t.Dir; ; d = path.Dir(d) {
		if _, err := os.Lstat(path.Join(d, ".git")); err == nil {
			rel, err := filepath.Rel(d, t.Dir)
			return d, filepath.ToSlash(rel), err == nil
		}
		if d == path.Dir(d) {
			return "", "", false
		}
	}
}
