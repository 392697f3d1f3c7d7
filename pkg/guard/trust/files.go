package trust

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/system/rootfs"
)

// FS has the trusted files below Dir and nothing else, each as the text that
// [Status.WithText] shows. A file that was changed since the status was made
// does not exist in it: what is read is what was trusted.
func (s Status) FS() fs.FS { return s.At(s.Dir) }

// At is like FS for another directory: one that [Around] lists.
func (s Status) At(dir string) fs.FS {
	t := tree{dir: dir, files: map[string]File{}}
	below, err := filepath.Rel(s.Root, dir)
	if err != nil {
		return t
	}
	for _, f := range s.Files {
		p := f.Path
		if below != "." {
			var ok bool
			if p, ok = strings.CutPrefix(p, filepath.ToSlash(below)+"/"); !ok {
				continue
			}
		}
		if f.State == Trusted {
			t.files[p] = f
		}
	}
	return t
}

type tree struct {
	dir   string
	files map[string]File // by name below dir
}

func (t tree) Open(name string) (fs.File, error) {
	fail := func(err error) (fs.File, error) { return nil, &fs.PathError{Op: "open", Path: name, Err: err} }
	if !fs.ValidPath(name) {
		return fail(fs.ErrInvalid)
	}
	want, ok := t.files[name]
	if !ok {
		if list := t.below(name); len(list) > 0 {
			return &folder{entry: entry{name: path.Base(name), dir: true}, list: list}, nil
		}
		return fail(fs.ErrNotExist)
	}
	root, err := os.OpenRoot(t.dir)
	if err != nil {
		return fail(err)
	}
	defer root.Close()
	b, _, err := load(root, name)
	if err != nil {
		return fail(err)
	}
	if digest(b) != want.Hash {
		return fail(errors.New("it was changed after it was trusted"))
	}
	if text, err := rootfs.Plain(b); err == nil {
		b = []byte(text)
	}
	return &content{entry{name: path.Base(name), size: int64(len(b))}, bytes.NewReader(b)}, nil
}

// below lists what a directory has.
func (t tree) below(name string) []fs.DirEntry {
	found := map[string]entry{}
	for p, f := range t.files {
		rest := p
		if name != "." {
			var ok bool
			if rest, ok = strings.CutPrefix(p, name+"/"); !ok {
				continue
			}
		}
		first, _, deeper := strings.Cut(rest, "/")
		e := entry{name: first, dir: deeper}
		if !deeper {
			e.size = f.Size
		}
		found[first] = e
	}
	var out []fs.DirEntry
	for _, e := range found {
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return out
}

// An entry describes a file or a directory; times and modes do not matter.
type entry struct {
	name string
	size int64
	dir  bool
}

func (e entry) Name() string               { return e.name }
func (e entry) Size() int64                { return e.size }
func (e entry) ModTime() time.Time         { return time.Time{} }
func (e entry) IsDir() bool                { return e.dir }
func (e entry) Sys() any                   { return nil }
func (e entry) Type() fs.FileMode          { return e.Mode().Type() }
func (e entry) Info() (fs.FileInfo, error) { return e, nil }

func (e entry) Mode() fs.FileMode {
	if e.dir {
		return fs.ModeDir | 0o500
	}
	return 0o400
}

type content struct {
	entry
	*bytes.Reader
}

func (c *content) Stat() (fs.FileInfo, error) { return c.entry, nil }
func (c *content) Size() int64                { return c.entry.size }
func (c *content) Close() error               { return nil }

type folder struct {
	entry
	list []fs.DirEntry
}

func (f *folder) Stat() (fs.FileInfo, error) { return f.entry, nil }
func (f *folder) Close() error               { return nil }
func (f *folder) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: f.name, Err: errors.New("it is a directory")}
}

func (f *folder) ReadDir(n int) ([]fs.DirEntry, error) {
	if n <= 0 {
		out := f.list
		f.list = nil
		return out, nil
	}
	if len(f.list) == 0 {
		return nil, io.EOF
	}
	out := f.list[:min(n, len(f.list))]
	f.list = f.list[len(out):]
	return out, nil
}
