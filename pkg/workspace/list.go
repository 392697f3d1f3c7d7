package workspace

import (
	"cmp"
	"context"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/match"
)

// ListOptions select the files to list. The zero value lists every file that is neither
// ignored nor hidden.
type ListOptions struct {
	Glob   string // what to choose: *.go, src/, ./cmd/**/*.go, several with commas, !*.test.js to leave out; one without a slash is for a name in any directory
	Dir    string // only below this directory
	Depth  int    // directories deeper than this are listed as such; zero goes all the way
	Max    int    // entries at most; 10,000 if zero
	Hidden bool   // also names that begin with a dot
}

// An Entry is a listed name.
type Entry struct {
	Name string // relative to the root
	Size int64
	Mode fs.FileMode
	Time time.Time // last modification
}

// List returns entries sorted by name, without what git ignores and without
// the names no tool may read, and says whether there were more than Max.
// Outside a repository it skips the usual directories of dependencies.
func (f *Files) List(ctx context.Context, o ListOptions) (entries []Entry, truncated bool, err error) {
	o.Dir = cmp.Or(o.Dir, ".")
	dir, err := f.Tree.Clean(o.Dir)
	if err == nil {
		dir, err = f.Tree.Resolve(o.Dir, dir, true)
	}
	if err == nil {
		err = f.CheckPath(o.Dir, dir, false)
	}
	if err != nil {
		return nil, false, err
	}
	if info, err := f.Tree.Root.Lstat(dir); err != nil {
		return nil, false, f.Tree.Explain(o.Dir, err)
	} else if !info.IsDir() {
		return nil, false, &rootfs.PathError{Name: o.Dir, Reason: "is a file; list a directory"}
	}
	chosen, err := match.ParseList(o.Glob)
	if err != nil {
		return nil, false, err
	}
	names, more, err := f.Tree.ListFiles(ctx, dir)
	if err != nil {
		return nil, false, err
	}
	names = o.choose(dir, names, chosen, f.CheckPath)
	limit := o.Max
	if limit <= 0 {
		limit = 10_000
	}
	in := lastDir{root: f.Tree.FD(), fd: -1}
	defer in.close()
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return nil, false, err
		}
		st, err := in.lstat(name)
		if err != nil {
			continue // git knows it, but it is deleted
		}
		if len(entries) == limit {
			return entries, true, nil
		}
		entries = append(entries, Entry{Name: name, Size: st.Size, Mode: rootfs.FileMode(&st), Time: time.Unix(st.Mtim.Unix())})
	}
	return entries, more, nil
}

// lastDir looks up names in order, without following links. It keeps the
// directory of the last one open: a lookup from the root opens every directory
// on the way.
type lastDir struct {
	root, fd int // fd is -1 if no directory is open
	dir      string
}

func (l *lastDir) lstat(name string) (unix.Stat_t, error) {
	dir, base := path.Split(name)
	if dir == "" {
		return rootfs.StatAt(l.root, base)
	}
	if l.fd < 0 || dir != l.dir {
		l.close()
		fd, err := rootfs.OpenNoLinks(l.root, path.Clean(dir), rootfs.PathOnly|unix.O_DIRECTORY)
		if err != nil {
			return unix.Stat_t{}, err
		}
		l.dir, l.fd = dir, fd
	}
	return rootfs.StatAt(l.fd, base)
}

func (l *lastDir) close() {
	if l.fd >= 0 {
		_ = unix.Close(l.fd) // it was only read
		l.fd = -1
	}
}

// choose applies the options to names and sorts what is left.
func (o ListOptions) choose(dir string, names []string, chosen match.List, judge func(name, p string, write bool) error) []string {
	var out []string
	for _, name := range names {
		below := name
		if dir != "." {
			var ok bool
			if below, ok = strings.CutPrefix(name, dir+"/"); !ok {
				continue
			}
		}
		if !o.Hidden && (strings.HasPrefix(below, ".") || strings.Contains(below, "/.")) {
			continue
		}
		if o.Depth > 0 {
			if parts := strings.Split(below, "/"); len(parts) > o.Depth {
				name = path.Join(dir, path.Join(parts[:o.Depth]...))
			}
		}
		if !chosen.Match(name) {
			continue
		}
		if judge(name, name, false) != nil {
			continue
		}
		out = append(out, name)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
