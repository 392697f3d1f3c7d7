package workspace

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/adroit-run/adroit/internal/system/rootfs"
)

// WithGuard returns the same files with a barrier of the caller's on top of the
// names that nobody may use. It holds for everything that is done through the
// files it returns: reading, listing, searching, writing, moving. guard returns why a
// file may not be used, "" if it may; name is relative to the root, with links
// followed. It is called often and from several goroutines.
func (f *Files) WithGuard(guard func(name string, write bool) (why string)) *Files {
	return &Files{fileState: f.fileState, Ledger: f.Ledger, guard: guard, DenyList: f.DenyList}
}

// WithDenyList returns the same files with the operator's changes to the list of names
// that nobody may use.
func (f *Files) WithDenyList(n *rootfs.DenyList) *Files {
	return &Files{fileState: f.fileState, Ledger: f.Ledger, guard: f.guard, DenyList: n}
}

// Accepting returns the same files for a caller with a person's consent to write what
// configures agents and editors.
func (f *Files) Accepting() *Files {
	return &Files{fileState: f.fileState, Ledger: f.Ledger, guard: f.guard, DenyList: f.DenyList, accepting: true}
}

// NeedsApproval reports whether a file of this name, relative to the root, is to be written
// only when a person has agreed: it says what runs later without a question, as
// the settings of continuous integration do. Commands cannot write it at all.
func (f *Files) NeedsApproval(name string) bool {
	p := path.Clean(name)
	if rootfs.NeedsApproval(p) {
		return true
	}
	if real, err := f.Tree.Resolve(name, p, true); err == nil {
		p = real
	}
	if o, ok := f.Tree.OwnedBy(p); ok && o.Asked {
		return true
	}
	return f.Tree.GitObeys(p)
}

// Real is the name that a file has within the root once links are followed,
// for decisions about it. It fails for names that can not be used at all, but
// does not ask whether the file exists.
func (f *Files) Real(name string) (string, error) {
	p, err := f.Tree.Clean(name)
	if err != nil {
		return "", err
	}
	return f.Tree.Resolve(name, p, true)
}

// Links lists the symbolic links of the workspace, without those in directories of dependencies.
func (f *Files) Links(ctx context.Context) (links []string, err error) {
	err = rootfs.WalkDir(f.Tree.Root, ".", func(p string, e *rootfs.Entry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return nil // nobody can look into it
		case e.IsDir() && slices.Contains(rootfs.DependencyDirs, e.Name()):
			return fs.SkipDir
		case e.Type()&fs.ModeSymlink != 0:
			links = append(links, p)
		}
		return nil
	})
	return links, err
}

// CheckPath returns an error if p, a clean name, must not be used: nobody may, or
// the barrier says so.
func (f *Files) CheckPath(name, p string, write bool) error {
	if err := f.DenyList.Check(name, p, write && !f.accepting); err != nil {
		return err
	}
	if write {
		if dir := f.Tree.GitDirWith(p); dir != "" {
			return &rootfs.PathError{Name: name, Reason: fmt.Sprintf("lies in %s, which git takes for a repository of its own, or would then: its settings and hooks may be read but not changed; ask the person who runs you", dir)}
		}
		if o, ok := f.Tree.OwnedBy(p); ok && !o.Asked {
			return &rootfs.PathError{Name: name, Reason: "is a file of adroit's own, such as its configuration or a hook's program, and may be read but not changed; ask the person who runs you"}
		}
	}
	if f.guard == nil {
		return nil
	}
	if why := f.guard(p, write); why != "" {
		return &rootfs.PathError{Name: name, Reason: why}
	}
	return nil
}

// find cleans, resolves and judges a file's name.
func (f *Files) find(name string, follow, write bool) (string, error) {
	p, err := f.Tree.CleanFile(name)
	if err != nil {
		return "", err
	}
	if err := f.CheckPath(name, p, write); err != nil {
		return "", err
	}
	real, err := f.Tree.Resolve(name, p, follow)
	if err != nil {
		return "", err
	}
	if real == "." {
		return "", &rootfs.PathError{Name: name, Reason: "is the workspace itself; name a file inside it"}
	}
	return real, f.CheckPath(name, real, write)
}

// Types of internal packages that appear in the API of tools.
type (
	// A Text is a text file: its content, and the form it is written back in.
	Text = rootfs.Text
	// A Page is some lines of a text file.
	Page = rootfs.Page
)

// ReadFile returns a whole file of at most MaxFile bytes and remembers it for
// the stale check.
func (f *Files) ReadFile(name string) ([]byte, error) {
	p, err := f.find(name, true, false)
	if err != nil {
		return nil, err
	}
	b, err := f.Load(name, p)
	if err != nil {
		return nil, err
	}
	return b, f.Note(p, rootfs.Digest(b))
}

// Stat describes what a name stands for; of a link it describes the link,
// provided that it stays inside.
func (f *Files) Stat(name string) (fs.FileInfo, error) {
	p, err := f.Tree.Clean(name)
	if err != nil {
		return nil, err
	}
	if err := f.CheckPath(name, p, false); err != nil {
		return nil, err
	}
	real, err := f.Tree.Resolve(name, p, true)
	if err == nil {
		err = f.CheckPath(name, real, false)
	}
	if err != nil {
		return nil, err
	}
	link, err := f.Tree.Resolve(name, p, false)
	if err != nil {
		return nil, err
	}
	info, err := f.Tree.Root.Lstat(link)
	if err != nil {
		return nil, f.Tree.Explain(name, err)
	}
	return info, nil
}

// What tools and programs need of the directory below all of it.
type (
	// A DenyList has an operator's changes to the names that nobody may use.
	DenyList = rootfs.DenyList
	// A PathError refuses a name.
	PathError = rootfs.PathError
	// A StaleError is a file that is not as the job last saw it.
	StaleError = rootfs.StaleError
	// A TooLargeError is a file over the bound for being taken whole.
	TooLargeError = rootfs.TooLargeError
)
