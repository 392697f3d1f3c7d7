package catalog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/configs"
	"github.com/adroit-run/adroit/internal/host/jobdir"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/guard/trust"
	"github.com/adroit-run/adroit/pkg/workspace"
)

// A Context is the project context of a job: skills to choose from, and the instructions in the
// project's own files.
type Context struct {
	Skills   []agents.Skill
	Project  agents.Project
	Problems agents.Problems
}

// Open opens the workspace for [Decision.Context] and [Describe], which share one list
// of its files. One that is ignored need not be there: then both are nil.
func (d Decision) Open() (*workspace.Files, error) {
	files, err := workspace.Open(d.dir, nil)
	switch {
	case err == nil:
		files.Tree.ListOnce()
	case d.ignores:
		return nil, nil
	default:
		err = projectFilesError(err)
	}
	return files, err
}

func projectFilesError(err error) error {
	return fmt.Errorf("looking for %s: %w", strings.Join(agents.ProjectFiles(), " and "), err)
}

// Context reads the project context of the workspace, whose files [Decision.Open] opened. user are
// the layers of the user's skills; bytes bounds the size of AGENTS.md, see agents.ReadProject.
func (d Decision) Context(ctx context.Context, files *workspace.Files, user []agents.Layer, bytes int) (c Context, err error) {
	if d.ignores {
		c.Skills, c.Problems = agents.LoadSkills(user...)
		return c, nil
	}
	c.Skills, c.Problems = d.Skills(user)
	names, err := d.projectFiles(ctx, files)
	if err != nil {
		return c, projectFilesError(err)
	}
	in := func(name string) bool { return d.Trusted(filepath.Join(d.dir, filepath.FromSlash(name))) }
	var more agents.Problems
	c.Project, more = agents.ReadProject(d.files(), d.dir, names, in, bytes)
	c.Problems = append(c.Problems, more...)
	d.readAround(&c, bytes)
	return c, nil
}

// readAround adds the instructions in the directories between the top of the work tree and the
// workspace.
func (d Decision) readAround(c *Context, bytes int) {
	real, err := rootfs.Real(d.dir)
	if err != nil {
		return
	}
	for _, dir := range trust.Around(real) {
		var names []string
		for _, name := range agents.ProjectFiles() {
			if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
				names = append(names, name)
			}
		}
		up, err := filepath.Rel(real, dir)
		if err != nil {
			continue
		}
		in := func(name string) bool { return d.Trusted(filepath.Join(dir, name)) }
		p, more := agents.ReadProject(d.filesAt(dir), dir, names, in, bytes)
		for _, name := range p.Untrusted {
			c.Project.Untrusted = append(c.Project.Untrusted, path.Join(filepath.ToSlash(up), name))
		}
		for i := range more {
			more[i].File = path.Join(filepath.ToSlash(up), more[i].File)
		}
		c.Problems = append(c.Problems, more...)
		if p.Text != "" {
			c.Project.Around = append(c.Project.Around, agents.Words{File: path.Join(filepath.ToSlash(up), p.File), Text: p.Text})
		}
	}
}

// inOtherRepository reports whether a file lies in a repository inside, which is
// trusted by itself.
func inOtherRepository(dir, name string) bool {
	for d := path.Dir(name); d != "."; d = path.Dir(d) {
		if rootfs.Exists(filepath.Join(dir, filepath.FromSlash(d), ".git")) {
			return true
		}
	}
	return false
}

// projectFiles lists the files in which the workspace instructs agents, as far as git does not
// ignore them. The one at the top counts also where git ignores it.
func (d Decision) projectFiles(ctx context.Context, files *workspace.Files) ([]string, error) {
	names, found := d.status.Instructions()
	if !found || len(names) > maxAsked {
		entries, _, err := files.List(ctx, workspace.ListOptions{Glob: strings.Join(agents.ProjectFiles(), ","), Hidden: true})
		if err != nil {
			return nil, err
		}
		names = nil
		for _, e := range entries {
			if !inOtherRepository(d.dir, e.Name) {
				names = append(names, e.Name)
			}
		}
	} else {
		below := slices.DeleteFunc(names, func(name string) bool {
			return !strings.Contains(name, "/") || files.CheckPath(name, name, false) != nil
		})
		var err error
		if names, err = files.Tree.NotIgnored(ctx, below); err != nil {
			return nil, err
		}
	}
	for _, name := range agents.ProjectFiles() {
		if _, err := os.Lstat(filepath.Join(d.dir, name)); err == nil && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, nil
}

// maxAsked bounds the files that git is asked about by their names.
const maxAsked = 1000

// Skills loads the user's skills and the trusted ones of the workspace.
func (d Decision) Skills(user []agents.Layer) ([]agents.Skill, agents.Problems) {
	layers := slices.Clone(user)
	for _, name := range configs.Skills {
		if fsys, dir, ok := d.Layer(name); ok {
			layers = append(layers, agents.Layer{Name: "project", FS: fsys, Dir: dir})
		}
	}
	return agents.LoadSkills(layers...)
}

// A Decision records which files of a workspace may instruct agents: those that its operator
// trusts, or all of them for one run. The zero value trusts nothing.
type Decision struct {
	all     bool
	ignores bool // there is no store of what is trusted
	dir     string
	status  trust.Status
}

// Decide decides about a workspace. Without a store nothing is trusted, unless all is. data is the
// directory that keeps jobs: trust in a work tree extends to the worktrees that jobs were given of
// it.
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

// Settled reports whether each file of the workspace that can be trusted is.
func (d Decision) Settled() bool {
	return d.all || !d.ignores && !d.status.Partial && len(d.status.Open()) == 0
}

// Trusted reports whether a file or a directory of the workspace is.
func (d Decision) Trusted(path string) bool { return d.all || d.status.Trusted(path) }

// files returns the trusted files of the workspace, as they were at the time of the decision. No
// link leads out of the workspace.
func (d Decision) files() fs.FS {
	if d.all {
		return rootfs.DirFS(d.dir)
	}
	return d.status.FS()
}

// filesAt returns the trusted files of a directory around the workspace.
func (d Decision) filesAt(dir string) fs.FS {
	if d.all {
		return rootfs.DirFS(dir)
	}
	return d.status.At(dir)
}

// Layer returns a directory of the workspace as far as it is trusted.
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

// ToolServers returns the workspace's file of tool servers, or nil if it has none or the file is
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
