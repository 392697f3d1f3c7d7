package workspace

import (
	"io/fs"

	"github.com/adroit-run/adroit/internal/system/rootfs"
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
