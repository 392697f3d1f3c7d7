package process

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"golang.org/x/sys/unix"
)

// A scan records the names in a tree that need protection from commands. It is brought up to date
// before and after each command, so it remembers every directory with its state and reads again
// only those that have changed: creating, removing or renaming an entry changes its directory.
type scan struct {
	tree  *rootfs.Tree
	names *rootfs.Classifier
	dirs  map[string]*dirState // by their names relative to the tree
	hits  []string             // of them, those in which something was found
	read  int                  // directories read by the last update
	whole time.Time            // when all were read
	cost  time.Duration        // of that
	err   error                // that kept the last update from seeing everything
	// repo: the tree is a git directory. Except is a directory that others look at.
	repo   bool
	except string
}

// A dirState records the findings in one directory of a scan.
type dirState struct {
	stamp   rootfs.DirStamp
	checked time.Time // when it was about to be read
	below   []subdir
	found   []found
	bare    bool // git takes it for a repository, whatever its name
}

type subdir struct {
	name   string
	secret bool // nothing in it can be read by commands: only repositories matter
}

// found is one entry of a directory that needs protection.
type found struct {
	rel  string
	what rootfs.Class
	kind uint32 // S_IFDIR and its like
	id   rootfs.ID
}

// fullScanInterval is the minimum time between two complete scans, as a multiple of the time that
// one takes. They are for file systems that do not record what changes a directory.
const fullScanInterval = 100

func newScan(t *rootfs.Tree, names *rootfs.DenyList) *scan {
	return &scan{tree: t, names: rootfs.NewClassifier(names), dirs: map[string]*dirState{}}
}

// abs returns the absolute name of an entry.
func (s *scan) abs(rel string) string { return path.Join(s.tree.Dir, rel) }

// update brings the scan up to date. It fails if it could not look everywhere
// that a command can reach.
func (s *scan) update() error {
	began := time.Now()
	old := s.dirs
	all := began.Sub(s.whole) > fullScanInterval*s.cost
	if all {
		old = nil
	}
	s.dirs, s.read, s.err = make(map[string]*dirState, len(s.dirs)), 0, nil
	s.hits = s.hits[:0]
	s.visit(s.tree.FD(), subdir{name: "."}, ".", old)
	slices.Sort(s.hits)
	if all {
		s.whole, s.cost = began, time.Since(began)
	}
	return s.err
}

// visit looks at one directory by its name in the one above.
func (s *scan) visit(up int, sub subdir, rel string, old map[string]*dirState) {
	d := old[rel]
	if d != nil && len(d.below) == 0 {
		// Most directories are such: not opening them saves two calls of three.
		if st, err := rootfs.StatAt(up, sub.name); err == nil && d.current(&st) {
			s.Keep(rel, d)
			return
		}
	}
	flags := rootfs.PathOnly
	if d == nil { // it is going to be read
		flags = unix.O_RDONLY
	}
	fd, err := rootfs.OpenAt(up, sub.name, flags|unix.O_DIRECTORY, 0)
	if errors.Is(err, unix.EACCES) {
		flags = rootfs.PathOnly
		fd, err = rootfs.OpenDirAt(up, sub.name)
	}
	if err != nil {
		s.missed(rel, err)
		return
	}
	dir := rootfs.OpenedDir(fd)
	defer dir.Close()
	var st unix.Stat_t
	began := time.Now()
	if err := unix.Fstat(fd, &st); err != nil {
		s.missed(rel, err)
		return
	}
	if d == nil || !d.current(&st) {
		entries, err := []fs.DirEntry(nil), error(nil)
		if flags == unix.O_RDONLY {
			entries, err = dir.ReadDir(-1)
		} else {
			entries, err = rootfs.ListAt(fd)
		}
		if err != nil {
			s.missed(rel, err)
		}
		d = s.readDir(fd, sub, rel, entries, err == nil)
		d.checked, d.stamp = began, rootfs.StampOf(&st)
	}
	s.Keep(rel, d)
	for _, b := range d.below {
		if at := path.Join(rel, b.name); len(at) <= rootfs.MaxName && !s.skips(at) { // beyond, no program can name it
			s.visit(fd, b, at, old)
		}
	}
}

// skips reports whether a directory is not looked at.
func (s *scan) skips(rel string) bool { return s.except != "" && rootfs.Within(s.except, rel) }

func (s *scan) Keep(rel string, d *dirState) {
	s.dirs[rel] = d
	if d.bare || len(d.found) > 0 {
		s.hits = append(s.hits, rel)
	}
}

// missed records why a directory could not be scanned. A directory that is gone or that we may not
// read is inaccessible to a command, too.
func (s *scan) missed(rel string, err error) {
	for _, e := range []error{unix.ENOENT, unix.ENOTDIR, unix.ELOOP, unix.EACCES, unix.EPERM} {
		if errors.Is(err, e) {
			return
		}
	}
	if s.err == nil {
		s.err = fmt.Errorf("looking at %s: %w", s.abs(rel), err)
	}
}

// current reports whether a directory is as it was when it was read.
func (d *dirState) current(st *unix.Stat_t) bool {
	return d.stamp == rootfs.StampOf(st) && d.stamp.Settled(d.checked)
}

// readDir records the entries of one directory. listed reports whether entries is complete.
func (s *scan) readDir(fd int, sub subdir, rel string, entries []fs.DirEntry, listed bool) *dirState {
	s.read++
	d := &dirState{}
	if !listed {
		if st, err := rootfs.StatAt(fd, ".git"); err == nil { // git finds it without listing
			d.found = append(d.found, found{path.Join(rel, ".git"), rootfs.GitEntry, rootfs.TypeOf(&st), rootfs.FileID(&st)})
		}
	}
	var has struct{ head, objects, refs, common bool }
	for _, e := range entries {
		at, name := path.Join(rel, e.Name()), rootfs.Fold(e.Name())
		switch name {
		case "head":
			has.head = !e.IsDir()
		case "objects":
			has.objects = true
		case "refs":
			has.refs = true
		case "commondir":
			has.common = true
		}
		what := rootfs.Class(0)
		switch {
		case name == ".git":
			what = rootfs.GitEntry
		case !sub.secret && s.names.Maybe(name):
			what = s.names.Class(at)
		}
		switch {
		case what == 0 && e.IsDir():
			d.below = append(d.below, subdir{e.Name(), sub.secret})
			continue
		case what == 0:
			continue
		case what.Secret() && e.IsDir():
			d.below = append(d.below, subdir{e.Name(), true})
		}
		if st, err := rootfs.StatAt(fd, e.Name()); err == nil {
			d.found = append(d.found, found{at, what, rootfs.TypeOf(&st), rootfs.FileID(&st)})
		}
	}
	slices.SortFunc(d.found, func(a, b found) int { return strings.Compare(a.rel, b.rel) })
	d.bare = has.head && (has.objects && has.refs || has.common)
	return d
}

// all yields the findings, in the order of the names of directories.
func (s *scan) all(yield func(found) bool) {
	for _, rel := range s.hits {
		d := s.dirs[rel]
		if d.bare {
			if !yield(found{rel, rootfs.GitEntry, unix.S_IFDIR, d.stamp.ID}) {
				return
			}
		}
		for _, f := range d.found {
			if !yield(f) {
				return
			}
		}
	}
}

// located returns f with its absolute name.
func (s *scan) located(f found) found {
	f.rel = s.abs(f.rel)
	return f
}

// lookup returns the file or directory at a name of the tree, without following links.
func (s *scan) lookup(rel string) (found, bool) {
	dir, base, err := rootfs.OpenParent(s.tree.FD(), rel)
	if err != nil {
		return found{}, false
	}
	defer unix.Close(dir)
	st, err := rootfs.StatAt(dir, base)
	if err != nil || rootfs.TypeOf(&st) != unix.S_IFREG && rootfs.TypeOf(&st) != unix.S_IFDIR {
		return found{}, false
	}
	return found{rel: rel, kind: rootfs.TypeOf(&st), id: rootfs.FileID(&st)}, true
}

// protect scans trees that commands may change. everything asks for a backup of all that must not
// change, for levels that do not lock it. beside is a tree around them that commands may read, or
// nil; top is the top of the work tree. baselines is the directory in which the commands of all
// processes record their baselines.
func protect(scans []*scan, beside *scan, top, baselines string, everything bool) (_ *protection, err error) {
	p := &protection{
		scans: scans, everything: everything, before: map[string]found{}, configs: map[rootfs.ID]found{}, links: map[string]string{}, repos: map[rootfs.ID]*gitDir{},
	}
	defer func() {
		if err != nil {
			p.Close()
		}
	}()
	if p.shared, err = openBaseline(baselines, scans); err != nil {
		return nil, err
	}
	for _, s := range scans {
		if s.isRepo() {
			p.addRepo(s, ".", gitMain)
			continue
		}
		if err := s.update(); err != nil {
			return nil, err
		}
		for f := range s.all {
			p.add(s, f)
		}
		p.addOwn(s)
	}
	if err := p.addOuter(beside, top); err != nil {
		return nil, err
	}
	p.uncover()
	return p, p.share()
}

func (p *protection) add(s *scan, f found) {
	at := s.abs(f.rel)
	p.before[at] = f
	switch {
	case f.what == rootfs.GitEntry && slices.ContainsFunc(p.masked, func(m string) bool { return rootfs.Within(m, at) }):
		return // no command can see it, and it stays what it is
	case f.what == rootfs.GitEntry && f.kind == unix.S_IFDIR:
		kind := gitMain
		if path.Base(f.rel) != ".git" {
			kind = gitBare
		}
		p.addRepo(s, f.rel, kind)
		return
	case f.kind == unix.S_IFLNK:
		p.addLink(s, f)
		return
	case f.what == rootfs.GitEntry && f.kind == unix.S_IFREG:
		p.addGitFile(s, f)
		return
	case f.kind != unix.S_IFREG && f.kind != unix.S_IFDIR:
		return
	}
	if f.what.Secret() {
		p.secret = append(p.secret, s.located(f))
		p.masked = append(p.masked, at)
	}
	if f.what.Config() {
		p.configs[f.id] = f
		p.fix(s, f)
	}
}
