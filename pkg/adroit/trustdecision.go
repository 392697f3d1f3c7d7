package adroit

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/adroit-run/adroit/internal/jobdir"
	"github.com/adroit-run/adroit/internal/trust"
)

// A trustDecision is what of a workspace may instruct agents: what its operator
// trusts, or all of it for one run.
type trustDecision struct {
	all    bool
	dir    string
	status trust.Status
}

// trusts decides about a workspace. Without a store nothing is trusted, unless
// all is.
func (rt *Runtime) trusts(dir string, all bool) (trustDecision, error) {
	d := trustDecision{all: all, dir: dir}
	if all || rt.o.Trust == nil {
		return d, nil
	}
	origin, err := rt.origin(dir)
	if err == nil {
		d.status, err = rt.o.Trust.CheckAs(dir, origin)
	}
	return d, err
}

// origin is the work tree that the one of a job was made from, if dir is in one
// that a job was given: what the operator trusts there is trusted in it.
func (rt *Runtime) origin(dir string) (string, error) {
	data, err := filepath.EvalSymlinks(rt.data())
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
		c, err := jobdir.FindTree(data, id, name)
		if err != nil || c == nil {
			return "", err
		}
		if c.Plain {
			from, err := rt.origin(c.From)
			return cmp.Or(from, c.From), err
		}
		return c.Tree.Repo, nil
	}
	w, err := jobdir.OpenWorktree(data, id)
	if err != nil || w == nil {
		return "", err
	}
	return w.Repo, nil
}

// none reports that nothing of the workspace is even looked at.
func (rt *Runtime) ignores(d trustDecision) bool { return !d.all && rt.o.Trust == nil }

// trusted reports whether a file or a directory of the workspace is.
func (d trustDecision) trusted(path string) bool { return d.all || d.status.Trusted(path) }

// files are those of the workspace that are trusted, as they were when that was
// decided. Below the root, a link cannot lead out of the workspace.
func (d trustDecision) files(root *os.Root) fs.FS {
	if d.all {
		return root.FS()
	}
	return d.status.FS()
}

// layer is a directory of the workspace as far as it is trusted.
func (d trustDecision) layer(name string) (fsys fs.FS, dir string, ok bool) {
	dir = filepath.Join(d.dir, filepath.FromSlash(name))
	switch {
	case d.dir == "":
		return nil, dir, false
	case d.all:
		return os.DirFS(dir), dir, true
	case len(d.status.Files) == 0:
		return nil, dir, false
	}
	sub, err := fs.Sub(d.status.FS(), name)
	return sub, dir, err == nil
}
