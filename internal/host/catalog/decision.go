package catalog

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/adroit-run/adroit/internal/host/jobdir"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/guard/trust"
)

// A Decision is what of a workspace may instruct agents: what its operator
// trusts, or all of it for one run. The zero value trusts nothing.
type Decision struct {
	all     bool
	ignores bool // there is no store of what is trusted
	dir     string
	status  trust.Status
}

// Decide decides about a workspace. Without a store nothing is trusted, unless
// all is. data is the directory that keeps jobs: what is trusted in a work tree is
// trusted in those that jobs were given of it.
func Decide(store *trust.Store, data, dir string, all bool) (Decision, error) {
	d := Decision{all: all, ignores: !all && store == nil, dir: dir}
	if all || store == nil {
		return d, nil
	}
	origin, err := jobdir.Origin(data, dir)
	if err == nil {
		d.status, err = store.CheckAs(dir, origin)
	}
	return d, err
}

// Ignores reports that nothing of the workspace is even looked at.
func (d Decision) Ignores() bool { return d.ignores }

// Trusted reports whether a file or a directory of the workspace is.
func (d Decision) Trusted(path string) bool { return d.all || d.status.Trusted(path) }

// files are those of the workspace that are trusted, as they were when that was
// decided. No link leads out of the workspace.
func (d Decision) files() fs.FS {
	if d.all {
		return rootfs.DirFS(d.dir)
	}
	return d.status.FS()
}

// filesAt are those of a directory around it.
func (d Decision) filesAt(dir string) fs.FS {
	if d.all {
		return rootfs.DirFS(dir)
	}
	return d.status.At(dir)
}

// Layer is a directory of the workspace as far as it is trusted.
func (d Decision) Layer(name string) (fsys fs.FS, dir string, ok bool) {
	dir = filepath.Join(d.dir, filepath.FromSlash(name))
	if d.dir == "" || !d.all && len(d.status.Files) == 0 {
		return nil, dir, false
	}
	fsys, err := fs.Sub(d.files(), name)
	return fsys, dir, err == nil
}

// Has reports whether the workspace dir has a file, trusted or not.
func Has(dir, name string) bool {
	_, err := fs.Stat(rootfs.DirFS(dir), name)
	return err == nil
}

// ToolServers is the workspace's file of tool servers, nil if it has none or if it is
// not trusted.
func (d Decision) ToolServers() ([]byte, error) {
	if !d.Trusted(turn.ProjectFile) {
		return nil, nil
	}
	b, err := fs.ReadFile(d.files(), turn.ProjectFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return b, err
}
