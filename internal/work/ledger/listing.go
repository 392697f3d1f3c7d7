package ledger

import (
	"context"
	"io/fs"
	"maps"
	"math"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/adroit-run/adroit/internal/system/rootfs"
)

// list returns the names below root, from the last listing if that is still valid.
func (b *log) list(ctx context.Context, t *rootfs.Tree, x *gitIndex) (*listing, error) {
	b.mu.Lock()
	old := b.listing
	b.mu.Unlock()
	if old != nil && old.root == t.Dir && old.index == x && old.holds(t) {
		return old, nil
	}
	l := &listing{root: t.Dir, index: x, made: time.Now(), stamps: map[string]fileStamp{}, repos: map[string]gitEntry{}}
	var all []string
	out, err := []byte(nil), errIndex
	if x != nil && stampAt(t, x.file) == x.now { // what is tracked is known
		out, err = t.GitList(ctx, math.MaxInt, "ls-files", "-o", "--exclude-standard", "-z")
	}
	if err == nil {
		for name := range strings.SplitSeq(string(out), "\x00") {
			if name != "" {
				dir, repo := strings.CutSuffix(name, "/")
				l.files = append(l.files, dir)
				if repo {
					l.nested = append(l.nested, dir)
				}
			}
		}
		l.files = append(l.files, x.rest...)
		var below []string
		if l.nested, below, err = t.InnerRepositories(ctx, append(l.nested, x.links...)); err != nil {
			return nil, err
		}
		l.files = append(l.files, below...)
	} else if l.files, l.more, err = t.ListFiles(ctx, "."); err != nil {
		return nil, err
	}
	if x != nil {
		l.files = slices.DeleteFunc(l.files, func(p string) bool { return x.find(p) != nil })
		for i := range x.files {
			all = append(all, x.files[i].name)
		}
	}
	slices.Sort(l.files)
	l.files = slices.Compact(l.files)
	all = append(all, l.files...)
	if l.dirs, err = directories(ctx, t, all); err != nil {
		return nil, err
	}
	watch := append(slices.Sorted(maps.Keys(l.dirs)), ".")
	for _, d := range watch {
		if st, err := t.Stat(path.Join(d, ".git")); err == nil {
			l.repos[path.Join(d, ".git")] = gitEntry{rootfs.FileID(&st), stampAt(t, path.Join(d, ".git", "HEAD")).mtime}
		}
	}
	for _, p := range all {
		if strings.HasSuffix(p, ".gitignore") {
			watch = append(watch, p)
		}
	}
	for _, p := range watch {
		l.stamps[p] = stampAt(t, p)
	}
	if x != nil {
		for _, p := range []string{x.file, path.Join(path.Dir(x.file), "info", "exclude")} {
			l.stamps[p] = stampAt(t, p)
		}
	}
	for _, d := range l.nested {
		for _, p := range gitFiles(ctx, t, d) {
			l.stamps[p] = stampAt(t, p)
		}
	}
	b.mu.Lock()
	b.listing = l
	b.mu.Unlock()
	return l, nil
}

// gitFiles lists the files of a repository below the tree that decide what git lists there.
func gitFiles(ctx context.Context, t *rootfs.Tree, dir string) (names []string) {
	below, err := rootfs.Open(path.Join(t.Dir, dir))
	if err != nil {
		return nil // gone since
	}
	defer below.Close()
	out, _ := below.Git(ctx, nil, "rev-parse", "--git-path", "index", "--git-path", "info/exclude") // without it git lists nothing
	for line := range strings.Lines(string(out)) {
		p := filepath.FromSlash(strings.TrimSuffix(line, "\n"))
		if !filepath.IsAbs(p) {
			p = filepath.Join(filepath.FromSlash(below.Dir), p)
		}
		names = append(names, p)
	}
	return names
}

// holds reports whether the listing is still valid.
func (l *listing) holds(t *rootfs.Tree) bool {
	for p, s := range l.stamps {
		if s != stampAt(t, p) || !s.settled(l.made) {
			return false
		}
	}
	return true
}

// directories returns the directories that exist, except those that hold no work, and
// those above the given names.
func directories(ctx context.Context, t *rootfs.Tree, names []string) (map[string]rootfs.State, error) {
	found := map[string]rootfs.State{}
	add := func(d string) {
		if st, err := t.Stat(d); err == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR {
			found[d] = rootfs.State{Type: rootfs.TypeDir, Mode: fs.FileMode(st.Mode & 0o777)}
		}
	}
	last := ""
	for _, p := range names {
		i := max(strings.LastIndexByte(p, '/'), 0)
		if p[:i] == last {
			continue
		}
		last = p[:i]
		for d := last; d != "." && d != ""; d = path.Dir(d) {
			if _, ok := found[d]; ok {
				break
			}
			add(d)
		}
	}
	err := rootfs.WalkDir(t.Root, ".", func(p string, d *rootfs.Entry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil || !d.IsDir() || p == "." {
			return nil
		}
		if slices.Contains(rootfs.DependencyDirs, d.Name()) {
			return fs.SkipDir
		}
		if _, ok := found[p]; !ok {
			add(p)
		}
		// Where the file system counts the directories in one, there are two
		// more: the name above it and the one in it.
		if st, err := t.Stat(p); err == nil && st.Nlink == 2 {
			return fs.SkipDir
		}
		return nil
	})
	return found, err
}
