package ledger

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"golang.org/x/sys/unix"
)

// A refUndo moves references back.
type refUndo struct {
	*undoing
	now         *refState
	values      map[string]string
	own, common int // the git directories
	left        map[string]bool
}

// moveRefs moves the references back that a part moved, and nobody has since. What it
// leaves is named.
func (u *undoing) moveRefs(ctx context.Context, p Selection) error {
	nets, doubtful := p.refNets()
	if len(nets)+len(doubtful) == 0 {
		return nil
	}
	r := &refUndo{undoing: u, left: map[string]bool{}, own: -1, common: -1}
	now, err := u.l.readRefs(ctx, u.t, nil, false)
	switch {
	case err != nil:
	case now == nil:
		err = errors.New("the repository is not there any more")
	default:
		r.now, r.values = now, now.values()
		if r.own, err = openGitDir(now.Dir); err == nil {
			defer unix.Close(r.own)
			if r.common, err = openGitDir(now.Common); err == nil {
				defer unix.Close(r.common)
			}
		}
	}
	if err == nil {
		err = context.Cause(ctx)
	}
	for _, n := range nets {
		if err != nil {
			n.why = err.Error()
		} else {
			n.why = r.refuses(n)
		}
		if n.why != "" && (err != nil || r.values[n.name] != n.orig.Before) { // else it is as it was
			r.leave(n.name, n.why)
		}
	}
	for _, c := range doubtful {
		if err != nil || r.values[c.Path] != c.Before {
			r.leave(c.Path, uncertainReason(c.Step)+includeUncertainHint)
		}
	}
	nets = slices.DeleteFunc(nets, func(n *refNet) bool { return n.why != "" })
	slices.SortStableFunc(nets, func(a, b *refNet) int { return cmp.Compare(order(a), order(b)) })
	for _, n := range nets {
		if err := r.move(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

func (r *refUndo) leave(name, why string) {
	if !r.left[name] {
		r.left[name] = true
		r.skip(name, errSkip(why))
	}
}

// order has locks and settings with which no git runs go first, HEAD leave a branch before that is removed, names be free before others
// take their place, and the index come last.
func order(n *refNet) int {
	switch {
	case isLock(n.name):
		return -2
	case GitFile(n.name):
		return -1
	case n.name == "HEAD":
		return 0
	case n.name == IndexRef:
		return 3
	case n.orig.Before == "":
		return 1
	}
	return 2
}

// refuses explains why a reference is not moved back, or returns "".
func (r *refUndo) refuses(n *refNet) string {
	value := r.values[n.name]
	end, isUnderWay := operationFiles[n.name]
	switch {
	case n.git != r.now.Dir:
		return "it is of another repository: " + n.git
	case value == n.orig.Before:
		return "it is as it was"
	case isUnderWay && value != "":
		return "git has begun something that is under way; " + end + " ends that and changes no file"
	case isUnderWay:
		return "what was under way has been ended"
	case n.why != "":
		return n.why
	case n.name == reflogs:
		return "undo does not bring reflogs back"
	case innerGit(n.name):
		return "it is a git directory, and undo neither makes nor removes one"
	case value != n.last.After && GitFile(n.name):
		return "it has been changed since the job changed it"
	case value != n.last.After:
		return "it has been moved since the job moved it"
	case value == unread && n.name != "HEAD" || n.orig.Before == unread:
		return "its form is not read here"
	case n.name == "refs/stash":
		return "it is a list, which git stash list shows" + stashed(n)
	case n.name == IndexRef && n.orig.Before != "" && n.orig.Kept == "":
		return "what was staged before was not kept; git status shows what is staged"
	case GitFile(n.name) && n.orig.Before != "" && n.orig.Kept == "":
		return "what was there before was not kept"
	case n.name == "HEAD" || n.name == IndexRef || GitFile(n.name):
		return ""
	case !strings.HasPrefix(n.name, "refs/") || strings.HasPrefix(value, "ref: ") || strings.HasPrefix(n.orig.Before, "ref: "):
		return "it leads to another reference; git symbolic-ref " + n.name + " shows and sets it"
	}
	heads := otherHeads(r.now.Dir, r.now.Common, r.own, r.common)
	for _, dir := range slices.Sorted(maps.Keys(heads)) {
		if heads[dir] == "ref: "+n.name {
			return "it is checked out in another work tree, that of " + dir
		}
	}
	return ""
}

func stashed(n *refNet) string {
	if id := n.orig.Before; id != "" && n.last.After != "" {
		return "; it was at " + id
	} else if id != "" {
		return "; git stash store " + id + " brings its newest entry back"
	}
	return "; git stash drop removes an entry"
}

// move moves a reference back and notes that. Only an error of the ledger itself ends
// the whole.
func (r *refUndo) move(ctx context.Context, n *refNet) error {
	back := RefMove{Name: rootfs.RawName(n.name), Before: n.last.After, After: n.orig.Before, Kept: n.last.Left, Left: n.orig.Kept}
	err := r.set(ctx, n)
	if err != nil {
		r.leave(n.name, err.Error())
		return nil
	}
	r.values[n.name] = n.orig.Before
	r.report.Moved = append(r.report.Moved, refChange(n.name, back.Before, back.After, "", false))
	r.l.mu.Lock()
	defer r.l.mu.Unlock()
	return r.l.add(record{Step: r.l.StepPath, Git: rootfs.RawName(n.git), Refs: []RefMove{back}}, true)
}

// set gives a reference the value that it had, if it has the one that the job left.
func (r *refUndo) set(ctx context.Context, n *refNet) error {
	old, to := n.last.After, n.orig.Before
	branch, symbolic := strings.CutPrefix(to, "ref: ")
	switch {
	case n.name == IndexRef:
		head := r.values["HEAD"]
		if branch, ok := strings.CutPrefix(head, "ref: "); r.left["HEAD"] || ok && r.left[branch] {
			return errors.New("what it is compared with, HEAD, has not been moved back")
		}
		return r.restoreIndex(ctx, n)
	case GitFile(n.name):
		return r.restoreFile(n)
	case n.name == "HEAD" && !strings.HasPrefix(old, "ref: ") && strings.Trim(old, "0123456789abcdef") != "":
		// With that, no git runs in the repository.
		return r.replace(r.own, "HEAD", 0o666, strings.NewReader(to+"\n"), func() bool { return refAt(r.own, "HEAD") == old })
	case n.name == "HEAD" && symbolic:
		return r.git(ctx, "", "symbolic-ref", "-m", "adroit: undo", "HEAD", branch)
	case n.name == "HEAD" && strings.HasPrefix(old, "ref: "):
		return r.git(ctx, "", "update-ref", "--no-deref", "-m", "adroit: undo", "HEAD", to)
	case n.name == "HEAD":
		return r.git(ctx, "", "update-ref", "--no-deref", "-m", "adroit: undo", "HEAD", to, old)
	case to == "" && r.values["HEAD"] == "ref: "+n.name:
		return errors.New("it is checked out")
	}
	zero := strings.Repeat("0", max(len(old), len(to)))
	return r.git(ctx, fmt.Sprintf("update %s\x00%s\x00%s\x00", n.name, cmp.Or(to, zero), cmp.Or(old, zero)), "update-ref", "-m", "adroit: undo", "--no-deref", "--stdin", "-z")
}

// git runs git on the repository, as one whose programs are not to be run.
func (r *refUndo) git(ctx context.Context, input string, args ...string) error {
	return rootfs.RunGit(ctx, r.now.Dir, nil, []byte(input), io.Discard, append([]string{"--git-dir=" + r.now.Dir}, args...)...)
}

// restoreIndex restores the index, if it can still be read: the rest of one may be in a file that git removes.
func (r *refUndo) restoreIndex(ctx context.Context, n *refNet) error {
	var content io.Reader
	var data []byte
	var err error
	if n.orig.Before != "" {
		if data, err = r.l.Load(n.orig.Kept); err != nil {
			return err
		}
		content = bytes.NewReader(data)
	}
	readable := true
	err = r.replace(r.own, "index", 0o666, content, func() bool {
		now, _ := stagedAt(ctx, r.now.Dir, r.own, nil)
		readable = content == nil || stagedIn(ctx, r.now.Dir, "index.lock", data) == n.orig.Before
		return readable && now == n.last.After
	})
	if !readable {
		return errors.New("git does not read what was staged before any more; git status shows what is staged")
	}
	return err
}

// restoreFile restores a file for which GitFile holds.
func (r *refUndo) restoreFile(n *refNet) error {
	git := r.common
	if obeyed[n.name] {
		git = r.own
	}
	dir, err := rootfs.OpenBeneath(git, path.Dir(n.name))
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	var content io.Reader
	mode := uint64(0o666)
	if n.orig.Before != "" {
		data, err := r.l.Load(n.orig.Kept)
		if err != nil {
			return err
		}
		content = bytes.NewReader(data)
		perm, _, _ := strings.Cut(n.orig.Before, " ")
		if mode, err = strconv.ParseUint(perm, 8, 32); err != nil {
			return err
		}
	}
	base := path.Base(n.name)
	return r.replace(dir, base, fs.FileMode(mode), content, func() bool { v, _ := gitFileAt(dir, base); return v == n.last.After })
}

// replace gives a file of the git directory its former content, as git itself writes one, or removes
// it without one, while it is the same as the job left it.
func (r *refUndo) replace(dir int, name string, mode fs.FileMode, content io.Reader, same func() bool) error {
	lock := name + ".lock"
	err := rootfs.CreateAt(dir, lock, cmp.Or[io.Reader](content, strings.NewReader("")), mode)
	if errors.Is(err, os.ErrExist) {
		return errors.New("a git is at work, or one that was killed left " + filepath.Join(filepath.FromSlash(r.now.Dir), lock))
	}
	if err == nil && !same() {
		err = errors.New("it has been changed since the job changed it")
	}
	switch {
	case err != nil:
	case content == nil:
		if err = rootfs.RemoveAt(dir, name); err == nil {
			return rootfs.RemoveAt(dir, lock)
		}
	default:
		err = rootfs.MoveAt(dir, lock, dir, name)
	}
	if err != nil {
		return errors.Join(err, rootfs.RemoveAt(dir, lock))
	}
	return rootfs.SyncDir(path.Clean(r.now.Dir))
}

// lastMove returns the newest move of a reference, and its number.
func (b *log) lastMove(git, name string) (int, RefMove) {
	for i := len(b.moves) - 1; i >= 0; i-- {
		if m := b.moves[i]; m.git == git && string(m.Name) == name {
			return i, m.RefMove
		}
	}
	return -1, RefMove{}
}

// movedMeanwhile names references that moved between the calls of a server: as a rule a person moved
// them, and an undo would take the person's commit out of its branch.
func movedMeanwhile(moves []RefMove) string {
	if len(moves) == 0 {
		return ""
	}
	var names []string
	for _, m := range moves {
		names = append(names, string(m.Name))
	}
	return "between two calls of a server, or after its last, these references changed, which an undo leaves, since a person may have moved them: " + refNames(names)
}

// refNames lists references in words.
func refNames(moved []string) string {
	const most = 10
	var names []string
	for i, name := range moved {
		if i == most {
			names = append(names, fmt.Sprintf("%d more", len(moved)-most))
			break
		}
		if name = spelling.PathLine(name); name == IndexRef {
			name = "what is staged"
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

// compareRefs finds the references that have moved. Everybody shares the git directory, even a
// command with an overlay, so it is uncertain who moved them, except in a job's own work tree,
// whose references nobody else moves.
func (s *Snapshot) compareRefs(ctx context.Context, t *rootfs.Tree) (moves []RefMove, partial string) {
	was, err := s.refs, s.unread
	if was == nil && err == nil {
		return nil, ""
	}
	var now *refState
	if err == nil {
		now, err = s.Ledger.readRefs(ctx, t, s.index, false)
	}
	if err == nil {
		err = was.load(s.Ledger.log)
	}
	switch {
	case err != nil:
	case now == nil:
		err = errors.New("the repository " + was.Dir + " is gone")
	case now.Dir != was.Dir:
		err = errors.New("another repository is in the place of " + was.Dir)
	}
	if err != nil {
		return nil, "which branches and tags a command moved is not known: " + err.Error()
	}
	names, before, after := was.moved(now)
	for _, name := range names {
		m := RefMove{Name: rootfs.RawName(name), Before: before[name], After: after[name], Uncertain: (was.Only == "" || GitFile(name) && !obeyed[name]) && !s.ownGit}
		s.Ledger.mu.Lock()
		i, last := s.Ledger.lastMove(was.Dir, name)
		s.Ledger.mu.Unlock()
		if i >= 0 && last.After == m.After {
			continue // it is noted
		}
		if i >= was.Began {
			m.Before = last.After
		}
		if name == IndexRef {
			s.keepIndexes(ctx, was, now, &m)
		}
		if m.Before == before[name] {
			m.Kept = cmp.Or(m.Kept, s.keepFile(was.content[name]))
		}
		m.Left = cmp.Or(m.Left, s.keepFile(now.content[name]))
		moves = append(moves, m)
	}
	return moves, ""
}

// PutBack records which references that the command moved, and what it had git begin, are again as
// they were: the protection of the sandbox puts them back after the command's changes are recorded.
func (s *Snapshot) PutBack(ctx context.Context) error {
	l, was := s.Ledger, s.refs
	if was == nil {
		return nil
	}
	l.mu.Lock()
	moved := len(l.moves) > was.Began
	l.mu.Unlock()
	if !moved {
		return nil
	}
	t, err := rootfs.Open(s.Root)
	if err != nil {
		return err
	}
	defer t.Close()
	now, err := l.readRefs(ctx, t, s.index, false)
	if err != nil || now == nil || now.Dir != was.Dir || was.load(l.log) != nil {
		return nil // what is known of them stays
	}
	before, after := was.values(), now.values()
	l.mu.Lock()
	defer l.mu.Unlock()
	var moves []RefMove
	for _, name := range slices.Sorted(maps.Keys(l.movedSince(was))) {
		if _, last := l.lastMove(was.Dir, name); last.After != after[name] && before[name] == after[name] {
			moves = append(moves, RefMove{Name: rootfs.RawName(name), Before: last.After, After: after[name], Uncertain: last.Uncertain})
		}
	}
	if len(moves) == 0 {
		return nil
	}
	return l.add(record{Step: l.StepPath, Refs: moves, Git: s.git(moves)}, true)
}

// movedSince has the names of the references of a repository that were moved since a state of it.
func (b *log) movedSince(was *refState) map[string]bool {
	names := map[string]bool{}
	for _, m := range b.moves[min(was.Began, len(b.moves)):] {
		if m.git == was.Dir {
			names[string(m.Name)] = true
		}
	}
	return names
}

// keepIndexes keeps the content of the index before and after a command. What is not
// kept is not put back.
func (s *Snapshot) keepIndexes(ctx context.Context, was, now *refState, m *RefMove) {
	keep := func(file, staged string) string {
		data, err := os.ReadFile(file)
		if err != nil || len(data) > MaxKeep || s.looking || stagedIn(ctx, now.Dir, "index", data) != staged || s.Ledger.Store(data) != nil {
			return ""
		}
		return rootfs.Digest(data)
	}
	if m.Kept = was.Held; was.Index != m.Before {
		m.Kept = ""
	} else if s.saved != "" && m.Kept == "" {
		m.Kept = keep(filepath.Join(s.Ledger.Dir, s.saved), m.Before)
	}
	m.Left = keep(filepath.Join(filepath.FromSlash(now.Dir), "index"), m.After)
}

// keepFile keeps the content of a file of the git directory, and returns its digest.
func (s *Snapshot) keepFile(data []byte) string {
	if data == nil || s.looking || s.Ledger.Store(data) != nil {
		return ""
	}
	return rootfs.Digest(data)
}

// OwnGit has the snapshot take the references that are others afterwards for moved by the
// command, which is a git of this program's own that moves some and runs for a moment.
func (s *Snapshot) OwnGit() { s.ownGit = true }

// Joined notes which references a command moved whose changes have been brought into
// the workspace.
func (s *Snapshot) Joined(ctx context.Context, t *rootfs.Tree) error {
	if err := s.nameGitSettings(ctx, t); err != nil {
		return err
	}
	moves, partial := s.compareRefs(ctx, t)
	if len(moves) == 0 && partial == "" {
		return nil
	}
	l := s.Ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.add(record{Step: l.StepPath, Git: s.git(moves), Refs: moves, Partial: partial}, true)
}

// git returns the git directory of moves.
func (s *Snapshot) git(moves []RefMove) rootfs.RawName {
	if len(moves) == 0 {
		return ""
	}
	return rootfs.RawName(s.refs.Dir)
}
