package workspace

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"path"

	"golang.org/x/sys/unix"

	"github.com/adroit-run/adroit/internal/system/rootfs"
)

// FS is a read-only view with the same confinement, for search. Names that no
// tool may read do not appear in it; links are listed and, if they stay inside,
// opened, but as ever not walked into. Opening what is neither file nor
// directory is an error. Reading through it does not count for the stale check.
func (f *Files) FS() fs.FS { return readOnly{f.Tree, f.CheckPath} }

// Peek reads the first bytes of a file, up to limit, into buf if there is room. It
// is for searching many files: the stale check ignores it.
func (f *Files) Peek(name string, buf []byte, limit int64) ([]byte, error) {
	if fs.ValidPath(name) && f.CheckPath(name, name, false) == nil {
		if b, ok := f.Tree.Read(name, buf, limit); ok {
			return b, nil
		}
	}
	p, err := f.find(name, true, false)
	if err != nil {
		return nil, err
	}
	in, _, err := f.Tree.Open(name, p)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	b := bytes.NewBuffer(buf[:0])
	_, err = b.ReadFrom(io.LimitReader(in, limit))
	return b.Bytes(), err
}

type readOnly struct {
	tree  *rootfs.Tree
	judge func(name, p string, write bool) error
}

func (r readOnly) Open(name string) (fs.File, error) {
	fail := func(err error) (fs.File, error) { return nil, &fs.PathError{Op: "open", Path: name, Err: err} }
	if !fs.ValidPath(name) {
		return fail(fs.ErrInvalid)
	}
	p, err := r.tree.Clean(name)
	if err == nil {
		err = r.judge(name, p, false)
	}
	if err == nil {
		p, err = r.tree.Resolve(name, p, true)
	}
	if err == nil {
		err = r.judge(name, p, false)
	}
	if err != nil {
		return fail(err)
	}
	info, err := r.tree.Root.Lstat(p)
	if err != nil {
		return fail(r.tree.Explain(name, err))
	}
	if info.IsDir() {
		d, err := r.tree.Root.OpenFile(p, os.O_RDONLY|unix.O_NONBLOCK|unix.O_DIRECTORY, 0)
		if err != nil {
			return fail(r.tree.Explain(name, err))
		}
		return &openDir{f: d, at: p, judge: r.judge}, nil
	}
	in, _, err := r.tree.Open(name, p)
	if err != nil {
		return fail(err)
	}
	return openFile{in}, nil
}

// openFile hides the methods of os.File that change things.
type openFile struct{ f *os.File }

func (o openFile) Stat() (fs.FileInfo, error)                { return o.f.Stat() }
func (o openFile) Read(b []byte) (int, error)                { return o.f.Read(b) }
func (o openFile) ReadAt(b []byte, off int64) (int, error)   { return o.f.ReadAt(b, off) }
func (o openFile) Seek(off int64, whence int) (int64, error) { return o.f.Seek(off, whence) }
func (o openFile) Close() error                              { return o.f.Close() }

type openDir struct {
	f     *os.File
	at    string
	judge func(name, p string, write bool) error
}

func (o *openDir) Stat() (fs.FileInfo, error) { return o.f.Stat() }
func (o *openDir) Close() error               { return o.f.Close() }

func (o *openDir) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: o.at, Err: unix.EISDIR}
}

// ReadDir lists what may be read.
func (o *openDir) ReadDir(n int) ([]fs.DirEntry, error) {
	for {
		all, err := o.f.ReadDir(n)
		kept := all[:0]
		for _, e := range all {
			name := path.Join(o.at, e.Name())
			if o.judge(name, name, false) == nil {
				kept = append(kept, e)
			}
		}
		if len(kept) > 0 || err != nil || n <= 0 {
			return kept, err
		}
		if len(all) == 0 {
			return nil, io.EOF
		}
	}
}
