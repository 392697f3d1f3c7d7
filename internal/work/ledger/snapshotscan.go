package ledger

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/adroit-run/adroit/internal/system/rootfs"
)

// maxSnapBytes bounds the content that is copied for one snapshot.
const maxSnapBytes = 256 << 20

// A Snapshot is the state of the files that git does not ignore before a command. Use it once, for
// one Record.
type Snapshot struct {
	Ledger    *Ledger
	Root      string
	before    map[string]rootfs.State // but for the files that were as git's index has them
	unkept    map[string]bool
	index     *gitIndex            // nil: none that could be read
	prefix    string               // of the root in the repository
	dirty     map[string]bool      // files of the index that were not as it has them
	ignored   map[string]bool      // of before, what git ignored; see KeepIgnored
	late      map[string]bool      // new files that git ignores by what the job wrote before
	large     map[string]fileStamp // of the same, what was not kept
	traits    map[string]Traits    // of files before, where they are not those of a new one; nil: not noted
	ctimes    map[string]int64     // of all files whose traits were noted
	special   map[string]string    // named pipes and the like before
	deps      []string             // directories of dependencies that git ignored before, of which nothing was kept
	made      []string             // of deps, those that a tool has made
	big       map[string]fileStamp // of deps, those with too many files
	exclude   string               // see excludeOf
	user      string               // see userExcludes
	otherUser bool                 // that has changed
	nested    []string             // repositories in the tree
	inner     map[string]*refState // of these, by directory; nil: not known
	repos     map[string]gitEntry  // what is named .git in the tree
	reposNow  map[string]gitEntry  // the same when the command has ended
	listed    []string             // names that git listed, without those of the index
	changed   []string             // what Record has put into the ledger; nil: nothing yet
	began     int                  // entries of the ledger when it was taken
	File      string               // what is needed for Record, on disk
	// looking: nothing may be written, so content from git stays in memory.
	looking bool
	secrets func() map[inode]bool // see secretFiles
	// reopened: it was read from disk, where only the index has the entries.
	reopened bool
	refs     *refState // nil: there is no repository
	unread   error     // that kept refs from being read
	ownGit   bool      // see OwnGit
	saved    string    // the copy of the index in the ledger
	vanished bool      // compare found something that git listed before and does not list now
	follows  bool      // see Follow
	barred   []Denied  // see Barring
	// takenBack and left are the names of Barred, with the rules.
	takenBack, left []Skipped
	// Partial explains why the record is incomplete, if it is: changes to the missing files are
	// not in the record and cannot be undone.
	Partial string
}

// indexed returns git's index, read again if it has changed, or nil if it cannot be used.
func (b *log) indexed(ctx context.Context, t *rootfs.Tree) (*gitIndex, string) {
	b.scans.Lock()
	defer b.scans.Unlock()
	if x := b.index; x != nil && x.dir == t.Dir {
		if st, err := t.Stat(x.file); err == nil && stampFrom(&st) == x.now {
			return x, b.prefix
		}
	}
	var err error
	if b.index, b.prefix, err = indexOf(ctx, t); err != nil {
		b.index = nil
	}
	return b.index, b.prefix
}

// Paths returns the paths that snapshots include regardless of git's list, sorted: those that the
// job changed, and those that are ignored only since a command of the job.
func (b *log) Paths() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := maps.Clone(b.watched)
	for p := range b.first {
		if !b.ignored[p] {
			all[p] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// scan reads the state of every file, link and directory, except the files that
// are as the index has them. Those of the index that are not are others.
func (s *Snapshot) scan(ctx context.Context, t *rootfs.Tree, keep bool) (found map[string]rootfs.State, others map[string]bool, err error) {
	b := s.Ledger.log
	b.scans.Lock()
	defer b.scans.Unlock()
	ls, err := b.list(ctx, t, s.index)
	if err != nil {
		return nil, nil, err
	}
	if keep {
		s.listed, s.nested, s.repos = ls.files, ls.nested, ls.repos
	}
	var x gitIndex
	if s.index != nil {
		x = *s.index
	}
	names := slices.Clip(ls.files)
	for _, p := range slices.Concat(b.Paths(), slices.Sorted(maps.Keys(s.ignored))) { // also those that are ignored
		if _, found := slices.BinarySearch(ls.files, p); !found && x.find(p) == nil {
			names = append(names, p)
		}
	}
	if s.reposNow = ls.repos; !keep { // in a repository that the command made, git lists nothing
		for _, d := range ls.nested {
			if !slices.Contains(s.nested, d) {
				below, _, _ := t.Walk(ctx, d) // what can be read
				names = append(names, slices.DeleteFunc(below, func(p string) bool { return x.find(p) != nil })...)
			}
		}
		slices.Sort(names)
		names = slices.Compact(names)
	}
	if ls.more {
		s.Partial = fmt.Sprintf("the workspace has more than %d files; changes to the rest were not recorded", rootfs.MaxNames)
	}
	if keep || s.secrets == nil {
		s.secrets = sync.OnceValue(func() map[inode]bool { return s.secretFiles(context.WithoutCancel(ctx)) })
	}
	found = maps.Clone(ls.dirs)
	others = map[string]bool{}
	var bytes int64
	look, now := looker(t), time.Now()
	for i := range len(x.files) + len(names) {
		if i%1000 == 0 && ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		var p string
		var e *tracked
		if i < len(x.files) {
			e = &x.files[i]
			p = e.name
		} else {
			p = names[i-len(x.files)]
		}
		st, ok := look(p)
		if ok && e != nil && !(keep && !stampFrom(&st).settled(now)) && s.asIndexed(t, p, e, &st, keep) {
			continue
		}
		if e != nil {
			others[p] = true
		}
		if ok {
			_ = s.read(t, p, keep, &bytes, found) // one that is unreadable, or gone since, is left out
		}
	}
	return found, others, nil
}

// looker returns a func that looks at files and links of the tree, and at nothing
// that is not reached through directories alone.
func looker(t *rootfs.Tree) func(p string) (unix.Stat_t, bool) {
	straight := map[string]bool{".": true}
	last, fine := "", true // files of one directory come in a row
	return func(p string) (unix.Stat_t, bool) {
		dir := ""
		if i := strings.LastIndexByte(p, '/'); i >= 0 {
			dir = p[:i]
		}
		if dir != last {
			last, fine = dir, dir == "" || t.IsPlainDir(dir, straight)
		}
		if !fine {
			return unix.Stat_t{}, false
		}
		st, err := t.Stat(p)
		kind := st.Mode & unix.S_IFMT
		return st, err == nil && (kind == unix.S_IFREG || kind == unix.S_IFLNK)
	}
}

// asIndexed reports whether a file is as the index has it, and was before.
func (s *Snapshot) asIndexed(t *rootfs.Tree, p string, e *tracked, st *unix.Stat_t, first bool) bool {
	perm := fs.FileMode(st.Mode & 0o777)
	if !first {
		return !s.dirty[p] && (e.perm == perm || s.reopened) && e.Clean(st)
	}
	if !e.Clean(st) {
		s.Ledger.mu.Lock()
		_, other := s.Ledger.cache[p]
		s.Ledger.mu.Unlock()
		if other || !e.verify(t, p, st) {
			return false
		}
	}
	e.perm = perm
	return true
}

// read reads the state of a file or link.
func (s *Snapshot) read(t *rootfs.Tree, p string, keep bool, bytes *int64, found map[string]rootfs.State) error {
	info, err := t.Root.Lstat(p)
	if err != nil {
		return err
	}
	*bytes += info.Size()
	st, ok := info.Sys().(*syscall.Stat_t)
	secret := s.Ledger.DenyList.Check(p, p, false) != nil || ok && s.OtherNameOfSecret(uint64(st.Dev), st.Ino, uint64(st.Nlink))
	// What no tool may read is not copied either: its change shows, but is
	// not undone.
	state, kept, err := s.Ledger.stampOf(t, p, info, keep && *bytes <= maxSnapBytes && !secret)
	if err != nil {
		return err
	}
	found[p] = state
	if keep && !kept {
		s.unkept[p] = true
	}
	return nil
}

// An inode identifies a file independently of its names.
type inode struct{ dev, ino uint64 }

// OtherNameOfSecret reports whether a file, of which links names are there, is also a
// file on the list of secrets: that has a name in a directory that the snapshot looked into.
func (s *Snapshot) OtherNameOfSecret(dev, ino, links uint64) bool {
	return links > 1 && s.secrets != nil && s.secrets()[inode{dev, ino}]
}

// secretFiles finds the files on the list of secrets that have several names, in all directories
// but those of dependencies. It is called only if a listed file has several names.
func (s *Snapshot) secretFiles(ctx context.Context) map[inode]bool {
	found := map[inode]bool{}
	t, err := rootfs.Open(s.Root)
	if err != nil {
		return found
	}
	defer t.Close()
	names, _, _ := t.Walk(ctx, ".") // those that can be read
	for _, p := range names {
		if s.Ledger.DenyList.Check(p, p, false) == nil {
			continue
		}
		if st, err := t.Stat(p); err == nil && rootfs.TypeOf(&st) == unix.S_IFREG && st.Nlink > 1 {
			found[inode{uint64(st.Dev), st.Ino}] = true
		}
	}
	return found
}

// stampOf reads the state of a file unless it is as it was last time.
func (b *log) stampOf(t *rootfs.Tree, p string, info fs.FileInfo, keep bool) (rootfs.State, bool, error) {
	now := stamp{size: info.Size(), mod: info.ModTime().UnixNano(), mode: info.Mode()}
	settled := false
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		now.inode, now.ctime = st.Ino, rootfs.Ctime(st)
		// A file changed this very moment can be changed again without a trace.
		settled = time.Since(time.Unix(0, max(now.ctime, now.mod))) > 50*time.Millisecond
	}
	b.mu.Lock()
	was, ok := b.cache[p]
	b.mu.Unlock()
	if ok && was.kept || ok && !keep {
		now.state, now.kept = was.state, was.kept
		if now == was {
			return was.state, was.kept, nil
		}
	}
	var err error
	if now.kept = keep && info.Size() <= MaxKeep && !b.Full(); now.kept {
		now.state, err = b.Capture(t, p, false)
	} else {
		now.state, err = t.State(p, nil)
	}
	if err != nil {
		return rootfs.State{}, false, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if settled {
		b.cache[p] = now
	} else {
		delete(b.cache, p)
	}
	return now.state, now.kept, nil
}

// InIndex reports whether git's index has the file as the snapshot found it.
func (s *Snapshot) InIndex(p string) bool { return s.index != nil && s.index.find(p) != nil }

// Listed reports whether a path was there before the command and git tracked it, or did not ignore
// it, or the ledger knows it: its change is recorded even if the command makes git ignore it.
func (s *Snapshot) Listed(p string) bool {
	_, found := s.before[p]
	return found || s.InIndex(p)
}

// IndexChanged reports whether git's index is another one than before the command.
func (s *Snapshot) IndexChanged(t *rootfs.Tree) bool {
	return s.index != nil && stampAt(t, s.index.file) != s.index.now
}
