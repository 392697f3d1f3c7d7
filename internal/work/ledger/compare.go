package ledger

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/spelling"
)

// Record compares the tree with the snapshot, records the differences in the ledger and returns
// the changed files, sorted. Changes by the file tools meanwhile are recorded already. The others
// are uncertain: a comparison does not show whether the command, a person or another job made
// them. reported are paths that the program itself reported to have changed, "." for all: these
// changes are evidence of work, and otherwise as uncertain as the others. If it fails, the
// snapshot is recorded with the next one, or by Recover.
func (s *Snapshot) Record(ctx context.Context, reported ...string) (changed []string, err error) {
	defer s.Leave()
	err = s.Ledger.Await(ctx, func() error {
		once, cancel := context.WithTimeout(ctx, maxCompare)
		defer cancel()
		changed, err = s.record(once, reported)
		return err
	})
	return changed, err
}

// maxCompare bounds a comparison, without the time that the host is waited for.
const maxCompare = time.Minute

// record may be called again after an error.
func (s *Snapshot) record(ctx context.Context, reported []string) (changed []string, err error) {
	l := s.Ledger
	if s.changed != nil {
		return s.finish(ctx, true)
	}
	if s.reopened { // only what was in the ledger before the kill is taken back
		if _, err := s.takeBack(ctx); err != nil {
			return nil, err
		}
	}
	r, changed, err := s.compare(ctx, reported)
	if err == nil {
		err = s.watchAfter(ctx, len(r.Changes) > 0)
	}
	if err != nil {
		return nil, err
	}
	news := len(r.Changes)+len(r.Refs) > 0 || r.Partial != ""
	if news {
		l.mu.Lock()
		err := l.add(r, true)
		l.mu.Unlock()
		if err != nil {
			return nil, err
		}
	}
	if s.reopened || s.follows {
		s.nameBarred(r.Changes)
	}
	if err := s.nameGit(ctx, r.Changes); err != nil {
		return nil, err
	}
	s.changed = append([]string{}, changed...)
	return s.finish(ctx, news)
}

// finish takes back what is denied and ends a snapshot whose changes are in the ledger. A kill
// before its end leaves all of it to Recover.
func (s *Snapshot) finish(ctx context.Context, news bool) (changed []string, err error) {
	var back []string
	if !s.reopened {
		if back, err = s.takeBack(ctx); err != nil {
			return nil, err
		}
	}
	changed = slices.DeleteFunc(slices.Clone(s.changed), func(name string) bool { return slices.Contains(back, name) })
	return changed, s.settle(news)
}

// settle ends a snapshot whose changes are in the ledger.
func (s *Snapshot) settle(news bool) error {
	if news {
		if err := s.Ledger.SyncWorkspace(s.Root); err != nil {
			return err
		}
	}
	if err := os.Remove(s.File); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("closing the record of a command: %w", err)
	}
	return nil
}

// watchAfter calls Watch where the command may have had git ignore something.
func (s *Snapshot) watchAfter(ctx context.Context, changed bool) error {
	t, err := rootfs.Open(s.Root)
	if err != nil {
		return err
	}
	defer t.Close()
	if changed || s.vanished || s.IndexChanged(t) {
		return s.Watch(ctx, t)
	}
	return nil
}

// compare finds the differences from the snapshot.
func (s *Snapshot) compare(ctx context.Context, reported []string) (r record, changed []string, err error) {
	t, err := rootfs.Open(s.Root)
	if err != nil {
		return r, nil, err
	}
	defer t.Close()
	after, others, err := s.scan(ctx, t, false)
	if err == nil {
		err = s.findNew(ctx, t, after)
	}
	if err == nil {
		err = s.Recall(ctx, t, others)
	}
	if err != nil {
		return r, nil, err
	}
	r = record{Step: s.Ledger.StepPath, Partial: s.Partial}
	mine := s.Ledger.since(s.began)
	for _, p := range s.union(after) {
		was, now := s.before[p], after[p]
		if _, had := s.before[p]; !had && s.Partial != "" {
			continue // perhaps it was there, and was not looked at
		}
		if was.Type == "" && s.wasIgnored(p) {
			continue // it was there
		}
		if now.Type == "" && was.Type != "" { // perhaps it is only ignored now
			if now, err = stateOrNothing(t, p); err != nil {
				continue
			}
		}
		s.vanished = s.vanished || now.Type != "" && after[p].Type == ""
		if now.Equal(was) || s.Ledger.Has(p, now) {
			continue
		}
		if between, ok := mine[p]; ok {
			was = between
		}
		r.Changes = append(r.Changes, PathChange{Path: rootfs.RawName(p), Before: was, After: now, Uncertain: !temporary(p), Reported: slices.Contains(reported, p) || slices.Contains(reported, "."), Ignored: s.ignored[p] || s.late[p]})
		if s.unkept[p] {
			r.Unkept = append(r.Unkept, rootfs.RawName(p))
		}
		if was.Type != rootfs.TypeDir && now.Type != rootfs.TypeDir && !s.ignored[p] && !s.late[p] {
			changed = append(changed, p)
		}
	}
	PairRenames(r.Changes)
	var unknown string
	if r.Refs, unknown = s.compareRefs(ctx, t); s.follows {
		r.Refs, unknown = nil, joinPartial(unknown, movedMeanwhile(r.Refs))
	}
	r.Git = s.git(r.Refs)
	r.Partial = joinPartial(joinPartial(r.Partial, joinPartial(NotKept(s.lost(t)), NotTakenBack(s.notTakenBack(ctx, t, after)))), unknown)
	return r, changed, nil
}

// stateOrNothing returns the state of a path, or none for a path behind a link or a special file,
// which the ledger does not record. An undo that finds something there reports it.
func stateOrNothing(t *rootfs.Tree, p string) (rootfs.State, error) {
	if link := new(rootfs.PathError); errors.As(t.CheckNoLinks(p), &link) {
		return rootfs.State{}, nil
	}
	now, err := t.State(p, nil)
	if st, serr := t.Stat(p); err != nil && serr == nil {
		switch rootfs.TypeOf(&st) {
		case unix.S_IFREG, unix.S_IFLNK, unix.S_IFDIR: // what cannot be read
		default:
			return rootfs.State{}, nil
		}
	}
	return now, err
}

// nameGit notes which git directories in the workspace a command removed or made: an undo
// leaves them as they are, but for a .git that is a file among the changes.
func (s *Snapshot) nameGit(ctx context.Context, changes []PathChange) error {
	if s.reopened || s.follows {
		return nil // what there was is not known, or nothing shows whose the difference is
	}
	t, err := rootfs.Open(s.Root)
	if err != nil {
		return err
	}
	defer t.Close()
	at := func(in map[string]gitEntry, e gitEntry) string { // the first name that it has
		for _, p := range slices.Sorted(maps.Keys(in)) {
			if in[p] == e {
				return p
			}
		}
		return ""
	}
	is := func(in map[string]gitEntry, p string, e gitEntry) bool { o, ok := in[p]; return ok && o.id == e.id }
	var made []string
	for _, p := range slices.Sorted(maps.Keys(s.reposNow)) {
		if e := s.reposNow[p]; !is(s.repos, p, e) && at(s.repos, e) == "" && !slices.ContainsFunc(changes, func(c PathChange) bool { return string(c.Path) == p }) {
			made = append(made, p)
		}
	}
	if len(made) > 0 {
		err = s.Ledger.NotePartial("an undo leaves the new git directories " + strings.Join(made, ", "))
	}
	for _, p := range slices.Sorted(maps.Keys(s.repos)) {
		e := s.repos[p]
		if is(s.reposNow, p, e) || s.Ledger.created(path.Dir(p)) {
			continue
		}
		note := RepositoryRemoved(path.Join(t.Dir, p))
		to := at(s.reposNow, e)
		st, gone := t.Stat(p)
		switch {
		case to != "":
			note = "the repository " + path.Join(t.Dir, p) + " was moved to " + to + " while a command ran, which an undo leaves as it is"
		case gone == nil && rootfs.FileID(&st) == e.id:
			continue // it is there, where no listing shows it
		case gone != nil && !errors.Is(gone, fs.ErrNotExist) && !errors.Is(gone, unix.ENOTDIR):
			note = "what became of the repository " + path.Join(t.Dir, p) + " while a command ran is not known: " + gone.Error()
		}
		err = errors.Join(err, s.Ledger.NotePartial(note))
	}
	return errors.Join(err, s.nameGitSettings(ctx, t))
}

// RepositoryRemoved returns the note about a git directory that is gone since a command began.
// The sandbox lets commands write there directly, so that nothing shows who removed it.
func RepositoryRemoved(at string) string {
	return "the repository " + at + " was removed while a command ran, and is not put back"
}

// nameGitSettings records that the command changed the repository's .git/info/exclude, or what is in
// the git directories of repositories inside of the workspace.
func (s *Snapshot) nameGitSettings(ctx context.Context, t *rootfs.Tree) error {
	var err error
	name := func(what string) {
		err = errors.Join(err, s.Ledger.NotePartial(what+" changed while a command ran, which an undo leaves as it is"))
	}
	if s.otherUser {
		name("what git ignores by core.excludesFile")
	}
	if s.reopened {
		return err
	}
	if s.exclude != excludeOf(t) {
		name(".git/info/exclude")
	}
	now := s.innerRefs(ctx, t)
	for _, dir := range slices.Sorted(maps.Keys(s.inner)) {
		if was := s.inner[dir]; now[dir] != nil && was.Dir == now[dir].Dir {
			moved, _, _ := was.moved(now[dir])
			moved = slices.DeleteFunc(moved, func(n string) bool { // a work tree of the same repository has the rest in common with ours
				return s.refs != nil && was.Common == s.refs.Common && (strings.HasPrefix(n, "refs/") || GitFile(n) && !obeyed[n])
			})
			if len(moved) > 0 {
				name(refNames(moved) + " of the repository " + spelling.PathLine(dir))
			}
		}
	}
	return err
}

// maxInner bounds how many repositories inside of the workspace are compared.
const maxInner = 100

// innerRefs reads the references of the repositories inside of the workspace that were there before
// the command.
func (s *Snapshot) innerRefs(ctx context.Context, t *rootfs.Tree) map[string]*refState {
	all := map[string]*refState{}
	for _, p := range slices.Sorted(maps.Keys(s.repos)) {
		if dir := path.Dir(p); dir != "." && len(all) < maxInner {
			if now, err := s.Ledger.refsOf(ctx, path.Join(t.Dir, dir), nil, false); err == nil && now != nil {
				all[dir] = now
			}
		}
	}
	return all
}

// Recall takes into the states before the command the files that were as the
// index had them and are not any more. Git has their content.
func (s *Snapshot) Recall(ctx context.Context, t *rootfs.Tree, others map[string]bool) error {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(others)), func(p string) bool { return s.dirty[p] })
	for some := range slices.Chunk(names, 200) {
		var oids []string
		for _, p := range some {
			oids = append(oids, s.index.find(p).id())
		}
		content, err := contents(ctx, t, oids)
		if err != nil && ctx.Err() != nil {
			return ctx.Err()
		}
		for _, p := range some {
			e := s.index.find(p)
			data, ok := content[e.id()]
			was := rootfs.State{Type: rootfs.TypeFile, Mode: e.perm, Digest: "git-" + e.id()}
			if st, err := t.Stat(p); s.reopened && err == nil && e.exec == (st.Mode&0o100 != 0) {
				was.Mode = fs.FileMode(st.Mode & 0o777) // nobody noted it
			}
			if ok {
				was.Digest, was.Size = rootfs.Digest(data), int64(len(data))
			}
			if !ok || s.Ledger.keepFromGit(was.Digest, data, s.looking || s.Ledger.DenyList.Check(p, p, false) != nil) != nil {
				s.unkept[p] = true
			}
			s.before[p] = was
		}
	}
	if len(names) > 0 && !s.looking {
		return rootfs.SyncFS(filepath.Join(s.Ledger.Dir, "blobs"))
	}
	return nil
}

// keepFromGit keeps content that a command replaced, or caches it for a while.
func (b *log) keepFromGit(digest string, data []byte, looking bool) error {
	if !looking {
		return b.Store(data)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.memory == nil {
		b.memory = map[string][]byte{}
	}
	b.memory[digest] = data
	return nil
}

// since returns the states in which other steps left the paths that they changed after an entry:
// later changes of a command in the background build on them.
func (b *log) since(began int) map[string]rootfs.State {
	b.mu.Lock()
	defer b.mu.Unlock()
	left := map[string]rootfs.State{}
	for _, e := range b.entries[min(began, len(b.entries)):] {
		left[string(e.Path)] = e.After
	}
	return left
}

// Has reports whether the ledger knows already that p is like this.
func (b *log) Has(p string, now rootfs.State) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	d, ok := b.last[p]
	return ok && d.After.Equal(now)
}

// created reports whether the job created the file that is, or was, at a path.
func (b *log) created(p string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	first, ok := b.first[p]
	return ok && first.Type == ""
}

func (s *Snapshot) union(after map[string]rootfs.State) []string {
	all := maps.Clone(s.before)
	maps.Copy(all, after)
	return slices.Sorted(maps.Keys(all))
}

// PairRenames finds renames by a command: content that went from one name to another.
func PairRenames(ds []PathChange) {
	gone := map[string]rootfs.RawName{}
	for _, d := range ds {
		if d.After.Type == "" && d.Before.Type == rootfs.TypeFile && d.Before.Size > 0 {
			gone[d.Before.Digest] = d.Path
		}
	}
	for i, d := range ds {
		if d.Before.Type == "" && d.After.Type == rootfs.TypeFile {
			if from, ok := gone[d.After.Digest]; ok && !strings.HasPrefix(string(d.Path), string(from)+"/") {
				ds[i].From = from
				delete(gone, d.After.Digest)
			}
		}
	}
}
