package ledger

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/spelling"
)

// What git ignores, such as local data, is kept up to so much of one file, and of
// one command. A change to a larger one is named only.
const (
	MaxIgnored    = 16 << 20
	MaxAllIgnored = 128 << 20
	maxIgnoredAll = 20_000 // files that are looked at
)

// InDependencies reports whether a path lies in a directory with the name of one that
// tools make.
func InDependencies(p string) bool {
	parts := strings.Split(p, "/")
	return slices.ContainsFunc(parts[:len(parts)-1], func(s string) bool { return slices.Contains(rootfs.DependencyDirs, s) })
}

// NotKept returns the note about ignored files that were too large to be kept, or "".
func NotKept(names []string) string {
	return listed("files that git ignores were removed or overwritten by a command and not kept, so that undo does not bring them back: ", names)
}

// NotTakenBack returns the note about changes of [Traits] and of special files, or "".
func NotTakenBack(what []string) string {
	return listed("an undo leaves as it is what a command did to ", what)
}

func listed(what string, names []string) string {
	if len(names) == 0 {
		return ""
	}
	return what + spelling.List(spelling.PathLines(names), 8)
}

// Traits are a file's or directory's properties beside content and permissions. They are not
// recorded: what a command changed of them is named.
type Traits struct {
	Attrs map[string]string // see rootfs.AttrsAt
	bits  uint32            // setuid, setgid and sticky
	links uint64            // names of a file
	id    rootfs.ID         // of a file
}

// TraitsAt returns the traits of a name in an open directory.
func TraitsAt(dir int, name string, st *unix.Stat_t) Traits {
	t := Traits{bits: uint32(st.Mode) & 0o7000}
	switch rootfs.TypeOf(st) {
	case unix.S_IFREG:
		t.links, t.id = uint64(st.Nlink), rootfs.FileID(st)
		fallthrough
	case unix.S_IFDIR:
		t.Attrs = rootfs.AttrsAt(dir, name)
	default:
		t.bits = 0
	}
	return t
}

// plain reports whether a new file has the same traits.
func (t Traits) plain() bool { return len(t.Attrs) == 0 && t.bits == 0 && t.links < 2 }

// Changed lists the traits in which a file differs now, but for its names; a missing one has
// none.
func (t Traits) Changed(now Traits) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(t.Attrs)) {
		if v, ok := now.Attrs[name]; !ok || v != t.Attrs[name] {
			out = append(out, traitOf(name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(now.Attrs)) {
		if _, ok := t.Attrs[name]; !ok {
			out = append(out, traitOf(name))
		}
	}
	for i, name := range []string{"sticky bit", "setgid bit", "setuid bit"} {
		if (t.bits^now.bits)&(0o1000<<i) != 0 {
			out = append(out, name)
		}
	}
	return strings.Join(out, ", ")
}

func traitOf(attr string) string {
	switch attr {
	case "system.posix_acl_access":
		return "access control list"
	case "system.posix_acl_default":
		return "default access control list"
	case "security.capability":
		return "capabilities"
	}
	return "extended attribute " + strconv.Quote(attr)
}

// Special names the kind of a file that has no content of its own, or returns "".
func Special(mode uint32) string {
	switch mode & unix.S_IFMT {
	case unix.S_IFIFO:
		return "named pipe"
	case unix.S_IFSOCK:
		return "socket"
	case unix.S_IFBLK, unix.S_IFCHR:
		return "device"
	}
	return ""
}

// specialDir is a cached result of ListAt for a directory of a stamp: kinds of special files.
type specialDir struct {
	stamp rootfs.DirStamp
	at    time.Time
	names map[string]string
}

// specials finds the named pipes, sockets and devices in directories, by their paths.
func (b *log) specials(t *rootfs.Tree, states map[string]rootfs.State) map[string]string {
	found := map[string]string{}
	look := func(dir string) {
		fd, err := rootfs.OpenNoLinks(t.FD(), dir, unix.O_RDONLY|unix.O_DIRECTORY)
		if err != nil {
			return // gone, or nobody can look into it
		}
		defer unix.Close(fd)
		var st unix.Stat_t
		if unix.Fstat(fd, &st) != nil {
			return
		}
		d := b.special[dir]
		if s := rootfs.StampOf(&st); d == nil || d.stamp != s || !s.Settled(d.at) {
			d = &specialDir{s, time.Now(), nil}
			entries, _ := rootfs.ListAt(fd)
			for _, e := range entries {
				kind := ""
				switch m := e.Type(); {
				case m&fs.ModeNamedPipe != 0:
					kind = Special(unix.S_IFIFO)
				case m&fs.ModeSocket != 0:
					kind = Special(unix.S_IFSOCK)
				case m&fs.ModeDevice != 0:
					kind = Special(unix.S_IFBLK)
				default:
					continue
				}
				if d.names == nil {
					d.names = map[string]string{}
				}
				d.names[e.Name()] = kind
			}
			b.special[dir] = d
		}
		for name, kind := range d.names {
			found[path.Join(dir, name)] = kind
		}
	}
	look(".")
	for p, s := range states {
		if s.Type == rootfs.TypeDir {
			look(p)
		}
	}
	return found
}

// A seenTraits is a file's traits as they were at a ctime.
type seenTraits struct {
	ctime int64
	Traits
}

// eachTraits calls visit for the names that exist, with a func that reads the traits.
func eachTraits(t *rootfs.Tree, names []string, visit func(p string, st *unix.Stat_t, read func() Traits)) {
	slices.Sort(names)
	last, fd := "", -1
	defer func() { unix.Close(fd) }()
	for _, p := range slices.Compact(names) {
		if dir := path.Dir(p); dir != last {
			unix.Close(fd)
			last = dir
			var err error
			if fd, err = rootfs.OpenNoLinks(t.FD(), dir, rootfs.PathOnly|unix.O_DIRECTORY); err != nil {
				fd = -1
			}
		}
		if fd < 0 {
			continue
		}
		if st, err := rootfs.StatAt(fd, path.Base(p)); err == nil {
			visit(p, &st, func() Traits { return TraitsAt(fd, path.Base(p), &st) })
		}
	}
}

// noteTraits notes the traits before a command without an overlay.
func (s *Snapshot) noteTraits(t *rootfs.Tree) {
	b := s.Ledger.log
	b.scans.Lock()
	defer b.scans.Unlock()
	if b.traits == nil {
		b.traits, b.special = map[string]seenTraits{}, map[string]*specialDir{}
	}
	s.ctimes, s.traits = map[string]int64{}, map[string]Traits{}
	now := time.Now()
	eachTraits(t, slices.Concat(s.names(), slices.Collect(maps.Keys(s.before))), func(p string, st *unix.Stat_t, read func() Traits) {
		c := rootfs.ChangeTime(st)
		seen, ok := b.traits[p]
		if !ok || seen.ctime != c {
			seen = seenTraits{c, read()}
			delete(b.traits, p)
			if c != 0 && now.Sub(time.Unix(0, c)) > rootfs.ClockGranularity {
				b.traits[p] = seen
			}
		}
		s.ctimes[p] = c
		if !seen.plain() {
			s.traits[p] = seen.Traits
		}
	})
	s.special = b.specials(t, s.before)
}

// notTakenBack lists what a command without an overlay changed of traits and special files.
func (s *Snapshot) notTakenBack(ctx context.Context, t *rootfs.Tree, after map[string]rootfs.State) (out []string) {
	if s.traits == nil {
		return nil
	}
	b := s.Ledger.log
	b.scans.Lock()
	defer b.scans.Unlock()
	left := maps.Clone(s.traits)
	eachTraits(t, slices.Collect(maps.Keys(s.ctimes)), func(p string, st *unix.Stat_t, read func() Traits) {
		was := left[p]
		delete(left, p)
		if c := rootfs.ChangeTime(st); c != 0 && c == s.ctimes[p] {
			return
		}
		now := read()
		what := was.Changed(now)
		if was.links > 1 && (now.id != was.id || now.links < was.links) {
			what = strings.TrimPrefix(what+", hard link", ", ")
		}
		if what != "" {
			out = append(out, p+" ("+what+")")
		}
	})
	for p, was := range left {
		what := was.Changed(Traits{})
		if was.links > 1 {
			what = strings.TrimPrefix(what+", hard link", ", ")
		}
		out = append(out, p+" ("+what+")")
	}
	now := b.specials(t, after)
	for p, kind := range s.special {
		if now[p] == "" {
			out = append(out, p+" ("+kind+", removed)")
		}
	}
	made := maps.Clone(now)
	maps.DeleteFunc(made, func(p, _ string) bool { return s.special[p] != "" })
	if len(made) > 0 && !s.otherRules(t, after) {
		ignored, _ := t.Git(ctx, []byte(strings.Join(slices.Collect(maps.Keys(made)), "\x00")), "check-ignore", "-z", "--stdin") // fails if it ignores none
		for p := range strings.SplitSeq(string(ignored), "\x00") {
			delete(made, p)
		}
	}
	for p, kind := range made {
		out = append(out, p+" ("+kind+", made)")
	}
	slices.Sort(out)
	return out
}

// KeepIgnored has the snapshot note the files that git ignores too. It is for a
// command without an overlay, whose changes are found by comparing.
func (s *Snapshot) KeepIgnored(ctx context.Context) error {
	t, err := rootfs.Open(s.Root)
	if err != nil {
		return err
	}
	defer t.Close()
	w, err := ignoredNow(ctx, t, s.nested)
	if err != nil {
		return err
	}
	defer s.noteTraits(t) // also of what is kept
	s.user = userExcludes(ctx, t)
	s.ignored, s.large = map[string]bool{}, map[string]fileStamp{}
	s.deps, s.big = slices.Concat(w.made, w.big), map[string]fileStamp{}
	for _, d := range w.made {
		if path.Base(d) != ".git" && !isEmpty(t, d) {
			s.made = append(s.made, d)
		}
	}
	for _, d := range w.big {
		if st, err := t.Stat(d); err == nil {
			s.big[d] = stampFrom(&st)
		}
	}
	look, total := looker(t), int64(0)
	for i, p := range w.names {
		if i%1000 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		st, ok := look(p)
		if _, listed := s.before[p]; !ok || listed || s.InIndex(p) {
			continue
		}
		info, err := t.Root.Lstat(p)
		if err != nil {
			continue
		}
		if total += info.Size(); info.Size() <= MaxIgnored && total <= MaxAllIgnored && i < maxIgnoredAll && s.Ledger.DenyList.Check(p, p, false) == nil {
			if was, kept, err := s.Ledger.stampOf(t, p, info, true); err == nil && kept {
				s.before[p], s.ignored[p] = was, true
				continue
			}
		}
		s.large[p] = stampFrom(&st)
	}
	if len(s.ignored) == 0 {
		return nil
	}
	old := s.File
	if err := s.save(); err != nil {
		return err
	}
	s.Ledger.mu.Lock()
	delete(s.Ledger.active, old)
	s.Ledger.mu.Unlock()
	if err := os.Remove(old); err != nil {
		return fmt.Errorf("noting the files before the command: %w", err)
	}
	return nil
}

// ignoredNow lists the files that git ignores, also in the repositories inside. Outside of
// repositories it lists the files in directories of dependencies.
func ignoredNow(ctx context.Context, t *rootfs.Tree, nested []string) (*ignoredWalk, error) {
	w, err := ignoredBy(ctx, t)
	for _, d := range nested {
		below, bad := rootfs.Open(path.Join(t.Dir, d))
		if err != nil || bad != nil {
			continue // gone since
		}
		var in *ignoredWalk
		if in, err = ignoredBy(ctx, below); err == nil {
			w.names = append(w.names, within(d, in.names)...)
			w.made = append(w.made, within(d, in.made)...)
			w.big = append(w.big, within(d, in.big)...)
		}
		below.Close()
	}
	return w, err
}

func within(dir string, names []string) (out []string) {
	for _, p := range names {
		out = append(out, path.Join(dir, p))
	}
	return out
}

func ignoredBy(ctx context.Context, t *rootfs.Tree) (*ignoredWalk, error) {
	w := &ignoredWalk{deps: DependenciesOf(t)}
	if _, _, ok := t.WorkTree(); !ok {
		w.outside(".")
		return w, ctx.Err()
	}
	out, err := t.GitList(ctx, math.MaxInt, "ls-files", "-o", "-i", "--exclude-standard", "--directory", "-z")
	if err != nil {
		return w, ctx.Err() // no git: nothing is ignored
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		dir, all := strings.CutSuffix(name, "/")
		switch {
		case ctx.Err() != nil:
			return w, ctx.Err()
		case name == "":
		case !all:
			if in, made := w.deps.Of(name); !made {
				w.names = append(w.names, name)
			} else if in != "" && !slices.Contains(w.made, in) {
				w.made = append(w.made, in)
			}
		case InDependencies(dir + "/x"):
			w.dependency(dir)
		default:
			w.visit(dir, 0)
		}
	}
	return w, nil
}

// excludeOf returns the repository's .git/info/exclude.
func excludeOf(t *rootfs.Tree) string {
	dir, err := rootfs.OpenBeneath(t.FD(), ".git/info")
	if err != nil {
		return ""
	}
	defer unix.Close(dir)
	b, _ := rootfs.ReadAt(dir, "exclude", MaxIgnored) // what cannot be read has git ignore nothing
	return string(b)
}

// userExcludes returns the file of the setting core.excludesFile with its content, which a command
// without a sandbox can change.
func userExcludes(ctx context.Context, t *rootfs.Tree) string {
	if _, _, ok := t.Repository(); !ok {
		return ""
	}
	out, _ := t.Git(ctx, nil, "config", "--type=path", "--get", "core.excludesFile") // fails if it is not set
	file := strings.TrimSuffix(string(out), "\n")
	if file == "" {
		base := os.Getenv("XDG_CONFIG_HOME")
		if base == "" {
			base = filepath.Join(os.Getenv("HOME"), ".config")
		}
		file = filepath.Join(base, "git", "ignore")
	} else if !filepath.IsAbs(file) {
		file = filepath.Join(t.Dir, file)
	}
	named := file
	if real, err := filepath.EvalSymlinks(file); err == nil { // git follows links to it
		file = real
	}
	dir, err := unix.Open(filepath.Dir(file), rootfs.PathOnly|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return named
	}
	defer unix.Close(dir)
	b, _ := rootfs.ReadAt(dir, filepath.Base(file), MaxIgnored) // what git cannot read has it ignore nothing
	return named + "\x00" + file + "\x00" + string(b)
}

// findNew adds to the states after a command the files that are new and that git
// ignores, where something else is ignored than before: by the rules before, they
// are work. Whether one would have been ignored then too is not asked.
func (s *Snapshot) findNew(ctx context.Context, t *rootfs.Tree, after map[string]rootfs.State) error {
	if s.large == nil {
		return nil
	}
	w, err := ignoredNow(ctx, t, s.nested)
	if err != nil {
		return err
	}
	s.otherUser = s.user != userExcludes(ctx, t)
	rules := s.otherRules(t, after)
	names := slices.DeleteFunc(w.names, func(p string) bool { return s.wasIgnored(p) || s.Listed(p) })
	if !rules && len(s.Ledger.FirstRules()) > 0 { // by what the job wrote before
		s.late = map[string]bool{}
		for _, p := range names {
			s.late[p] = true
		}
	} else if !rules && !slices.ContainsFunc(names, isRule) && !s.IndexChanged(t) {
		return nil
	}
	var bytes int64
	for _, p := range names {
		_ = s.read(t, p, false, &bytes, after) // one that is gone since is left out
	}
	return nil
}

// FirstRules returns the ignore files that the job has changed, as they were before it.
func (l *Ledger) FirstRules() map[string]rootfs.State {
	l.mu.Lock()
	defer l.mu.Unlock()
	rules := map[string]rootfs.State{}
	for p, was := range l.first {
		if isRule(p) && !l.last[p].After.Equal(was) {
			rules[p] = was
		}
	}
	return rules
}

func isRule(p string) bool { return p == ".gitignore" || strings.HasSuffix(p, "/.gitignore") }

// otherRules reports whether what git ignores is decided by other files than before.
func (s *Snapshot) otherRules(t *rootfs.Tree, after map[string]rootfs.State) bool {
	rules := s.otherUser || s.exclude != excludeOf(t)
	for p := range after {
		rules = rules || isRule(p) && !after[p].Equal(s.before[p])
	}
	for p, was := range s.before {
		rules = rules || isRule(p) && !after[p].Equal(was)
	}
	return rules
}

// wasIgnored reports whether a file was there before and git ignored it, and it was
// not kept.
func (s *Snapshot) wasIgnored(p string) bool {
	_, large := s.large[p]
	return large || s.ignored[p] || slices.ContainsFunc(s.deps, func(d string) bool { return rootfs.Within(d, p) })
}

// lost lists the large files that git ignores and that have changed, and directories of
// dependencies of which nothing was kept.
func (s *Snapshot) lost(t *rootfs.Tree) []string {
	var out []string
	look := looker(t)
	for _, p := range slices.Sorted(maps.Keys(s.large)) {
		if st, ok := look(p); !ok || st.Mode&unix.S_IFMT != unix.S_IFREG || stampFrom(&st) != s.large[p] {
			out = append(out, p)
		}
	}
	for _, d := range s.made {
		if isEmpty(t, d) {
			out = append(out, d+"/")
		}
	}
	for _, d := range slices.Sorted(maps.Keys(s.big)) {
		if st, err := t.Stat(d); err != nil || stampFrom(&st) != s.big[d] {
			out = append(out, d+"/")
		}
	}
	return out
}

// joinPartial adds a reason to another.
func joinPartial(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}

// Watch notes the names that git listed before the command, does not list now, and
// that are there: a command made git ignore or forget them, or made a repository
// around them. The next snapshots look at them all the same. It asks git anew.
func (s *Snapshot) Watch(ctx context.Context, t *rootfs.Tree) error {
	b := s.Ledger.log
	x, _ := b.indexed(ctx, t)
	b.scans.Lock()
	ls, err := b.list(ctx, t, x)
	b.scans.Unlock()
	if err != nil {
		return err
	}
	var names []rootfs.RawName
	look := looker(t)
	add := func(p string) {
		if _, found := slices.BinarySearch(ls.files, p); found || x != nil && x.find(p) != nil {
			return
		}
		if _, there := look(p); there {
			names = append(names, rootfs.RawName(p))
		}
	}
	for _, p := range s.names() {
		add(p)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	names = slices.DeleteFunc(names, func(p rootfs.RawName) bool { return b.watched[string(p)] })
	if len(names) == 0 {
		return nil
	}
	return b.add(record{Watch: names}, true)
}

// names lists the names that git listed before the command.
func (s *Snapshot) names() []string {
	names := slices.Clone(s.listed)
	if s.reopened {
		for p, st := range s.before {
			if st.Type != rootfs.TypeDir && !s.ignored[p] {
				names = append(names, p)
			}
		}
	}
	if s.index != nil {
		for i := range s.index.files {
			names = append(names, s.index.files[i].name)
		}
	}
	return names
}
