package adroit

import (
	"io/fs"
	"os"
	"path/filepath"

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
	if all || rt.trust == nil {
		return d, nil
	}
	origin, err := jobdir.Origin(rt.data(), dir)
	if err == nil {
		d.status, err = rt.trust.CheckAs(dir, origin)
	}
	return d, err
}

// ignores reports that nothing of the workspace is even looked at.
func (rt *Runtime) ignores(d trustDecision) bool { return !d.all && rt.trust == nil }

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
