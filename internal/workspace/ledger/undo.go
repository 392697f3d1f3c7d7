package ledger

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/adroit-run/adroit/internal/rootfs"
)

// An UndoReport says what Undo did.
type UndoReport struct {
	Restored []string  `json:"restored,omitempty"` // have their original content and mode again
	Removed  []string  `json:"removed,omitempty"`  // the job had created them
	Skipped  []Skipped `json:"skipped,omitempty"`
	Step     string    `json:"step,omitempty"` // that the undo is, and is undone by; "" if it did nothing
}

// A Skipped path was left as it is.
type Skipped struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// Undo gives the paths this job changed their original content and mode back,
// and removes what it created. A path is skipped, with a reason, if it is not
// as the job left it. Nothing is followed and nothing outside root is written.
// Undo is itself noted in the ledger, as a step that can be undone: doing it
// again does nothing more, and after a crash it goes on where it stopped.
func (l *Ledger) Undo(root string) (UndoReport, error) { return l.All().Undo(root) }

// Undo takes back the changes of the part alone. A path that another step
// changed afterwards is skipped.
func (p Selection) Undo(root string) (UndoReport, error) {
	l := p.l
	if err := l.Recover(context.Background()); err != nil {
		return UndoReport{}, err
	}
	t, err := rootfs.Open(root)
	if err != nil {
		return UndoReport{}, err
	}
	defer t.Close()
	defer t.Lock()()
	l.mu.Lock()
	step := undoStep + strconv.Itoa(l.undone+1)
	u := undoing{l: l.At(step), t: t, part: !p.whole, uncertain: p.uncertain}
	l.mu.Unlock()
	var back, away []*goal
	for _, g := range u.plan(p.nets()) {
		if g.to.Type == "" {
			away = append(away, g)
		} else {
			back = append(back, g)
		}
	}
	// Deepest first, so that a directory is empty when its turn comes; what is
	// put back follows, directories before what is in them.
	slices.SortStableFunc(away, func(a, b *goal) int { return cmp.Compare(strings.Count(b.path, "/"), strings.Count(a.path, "/")) })
	for _, g := range away {
		if err := u.do(g, u.remove); err != nil {
			return u.report, err
		}
	}
	for _, g := range back {
		if err := u.do(g, u.restore); err != nil {
			return u.report, err
		}
	}
	u.name(p.doubtful())
	if dir := l.shared; dir != "" {
		keepReserve(dir)
	}
	if len(u.report.Restored)+len(u.report.Removed) > 0 {
		u.report.Step = step
	}
	slices.Sort(u.report.Restored)
	slices.Sort(u.report.Removed)
	slices.SortFunc(u.report.Skipped, func(a, b Skipped) int { return cmp.Compare(a.Path, b.Path) })
	return u.report, nil
}

type undoing struct {
	l    *Ledger
	t    *rootfs.Tree
	part bool // later steps may have worked in the same directories
	// uncertain: what may be somebody else's is undone, too.
	uncertain bool
	report    UndoReport
}

// errSkip carries the reason why a path is left alone.
type errSkip string

func (e errSkip) Error() string { return string(e) }

// A goal is what an undo makes of a path: what it would be like without the
// changes of the part.
type goal struct {
	net
	to    version
	steps []version // see without
}

// plan finds what each path is to be. A path that is left alone is reported,
// and so is one that has the only copy of what somebody else wrote there.
func (u *undoing) plan(ns []net) []*goal {
	var goals []*goal
	left, kept, lines := map[string]bool{}, map[string]bool{}, map[string]bool{}
	skip := func(n *net, err error) {
		u.skip(n.path, err)
		// What it was like may be nowhere but under the name that it was moved to.
		left[n.path] = n.orig().Type == rootfs.TypeFile || len(n.foreign()) > 0
		for _, s := range n.all {
			kept[s.Digest] = kept[s.Digest] || s.Type == rootfs.TypeFile && len(n.foreign()) > 0
		}
		u.foreignLines(n, lines)
	}
	for i := range ns {
		n := &ns[i]
		now, err := u.look(n)
		if err == nil && len(n.spans) > 1 && now.Equal(n.begun) && !now.Equal(n.last.After) {
			n.rewind(now) // a crash prevented the newest change
		}
		g := &goal{net: *n, to: version{State: n.orig()}}
		switch {
		case err != nil:
		case now.Equal(n.orig()) && !now.Equal(n.last.After):
		case len(n.spans) > 1:
			if g.steps, err = u.l.without(n, version{State: now}); err == nil {
				g.to = g.steps[0]
			}
		}
		switch {
		case err == nil || n.mixed == nil: // it is said already
		case u.doubts(n.mixed):
			err = errSkip(doubt(n.mixed.step) + includeIt)
		case n.mixed.step != "":
			err = errSkip("step " + n.mixed.step + " changed it in between")
		}
		if err != nil && n.orig().Equal(n.last.After) && len(n.foreign()) == 0 {
			continue // nothing of the part is there any more
		}
		if err != nil {
			skip(n, err)
			continue
		}
		goals = append(goals, g)
	}
	return slices.DeleteFunc(goals, func(g *goal) bool {
		moved := slices.ContainsFunc(g.sources, func(p string) bool { return left[p] })
		if !moved && !kept[g.last.After.Digest] && !u.takes(g, lines) {
			return false
		}
		u.skip(g.path, errSkip("it has what somebody else wrote to a file that is left alone"))
		return true
	})
}

// foreignLines adds the lines that somebody else wrote between two changes.
func (u *undoing) foreignLines(n *net, lines map[string]bool) {
	for i, s := range n.spans[1:] {
		if s.from.Equal(n.spans[i].to) || s.from.Type != rootfs.TypeFile || s.from.Size > MaxDiff {
			continue
		}
		before, _ := u.l.Load(n.spans[i].to.Digest) // without it all lines count
		after, _ := u.l.Load(s.from.Digest)
		was := map[string]bool{}
		for l := range strings.Lines(string(before)) {
			was[l] = true
		}
		for l := range strings.Lines(string(after)) {
			if !was[l] && len(strings.TrimSpace(l)) > 3 {
				lines[l] = true
			}
		}
	}
}

// takes reports whether a path has one of the lines, which it would lose. A
// sub-agent may have moved what was in a file to another that has it alone.
func (u *undoing) takes(g *goal, lines map[string]bool) bool {
	if len(lines) == 0 || g.to.Equal(g.last.After) {
		return false
	}
	now, err := sideOf(u.t, g.path)
	if err != nil || now.Type != rootfs.TypeFile || now.large {
		return false
	}
	to := g.to.data
	if to == nil && g.to.Digest != "" {
		to, _ = u.l.Load(g.to.Digest)
	}
	for l := range strings.Lines(string(now.data)) {
		if lines[l] && !strings.Contains(string(to), l) {
			return true
		}
	}
	return false
}

// includeIt is what to do about a path that is left alone for a doubt.
const includeIt = "; --include-uncertain takes that back too"

// doubts reports whether a change is left alone because it is uncertain.
func (u *undoing) doubts(e *entry) bool { return e.Uncertain && !u.uncertain }

// doubt is the reason of an uncertain change.
func doubt(step string) string {
	if step == "" {
		return "it changed while a command ran, perhaps by somebody else"
	}
	return "it changed while step " + step + " ran, perhaps by somebody else"
}

// name reports the uncertain changes that are left alone.
func (u *undoing) name(ns []net) {
	for _, n := range ns {
		done := slices.ContainsFunc(u.report.Skipped, func(s Skipped) bool { return s.Path == n.path })
		if done || n.orig().Equal(n.last.After) || n.orig().Type == rootfs.TypeDir || n.orig().Type == "" && n.last.After.Type == rootfs.TypeDir {
			continue
		}
		if now, err := u.t.State(n.path, nil); err == nil && now.Equal(n.orig()) {
			continue // it is gone
		}
		u.skip(n.path, errSkip(doubt(n.step)+includeIt))
	}
}

func (u *undoing) skip(p string, err error) {
	u.report.Skipped = append(u.report.Skipped, Skipped{Path: p, Reason: err.Error()})
}

// do undoes one path. Only an error of the ledger itself ends the whole.
func (u *undoing) do(g *goal, how func(*goal, rootfs.State) error) error {
	now, err := u.look(&g.net) // others may have been at it since it was planned
	if err == nil && now.Equal(g.to.State) && u.l.Has(g.path, now) {
		return nil
	}
	if err == nil && now.Equal(g.to.State) {
		return u.Note(g, now, "") // by a crash, or by somebody's hand
	}
	if err == nil {
		err = how(g, now)
	}
	if errors.Is(err, syscall.ENOSPC) && u.l.giveReserve() {
		return u.do(g, how)
	}
	var broken *WriteError
	if errors.As(err, &broken) {
		return broken.Err
	}
	if err != nil {
		u.skip(g.path, err)
	}
	return nil
}

type WriteError struct{ Err error }

func (e *WriteError) Error() string { return e.Err.Error() }
func (e *WriteError) Unwrap() error { return e.Err }

// Note puts the path's return to its original state in the journal.
func (u *undoing) Note(g *goal, now rootfs.State, temp string) error {
	if err := u.l.Change(temp, g.deltas(now)...); err != nil {
		return &WriteError{err}
	}
	return nil
}

// deltas lead from now to the goal. Each is as uncertain as what it undoes, so
// that afterwards nothing is left of the one nor of the other.
func (g *goal) deltas(now rootfs.State) []PathChange {
	var ds []PathChange
	for i := len(g.steps) - 1; i > 0; i-- {
		if g.spans[i].uncertain != g.spans[i-1].uncertain {
			ds = append(ds, PathChange{Path: rootfs.RawName(g.path), Before: now, After: g.steps[i].State, Uncertain: g.spans[i].uncertain})
			now = g.steps[i].State
		}
	}
	return append(ds, PathChange{Path: rootfs.RawName(g.path), Before: now, After: g.to.State, Uncertain: g.spans[0].uncertain})
}

// delta is a change of the undo's own that is not the goal.
func (g *goal) delta(before, after rootfs.State) PathChange {
	return PathChange{Path: rootfs.RawName(g.path), Before: before, After: after, Uncertain: g.spans[len(g.spans)-1].uncertain}
}

// look reads the path's state and refuses one that is not the job's.
func (u *undoing) look(n *net) (rootfs.State, error) {
	if err := u.t.CheckNoLinks(n.path); err != nil {
		return rootfs.State{}, errSkip("a directory above it has become a symbolic link")
	}
	info, err := u.t.Root.Lstat(n.path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
	case err != nil:
		return rootfs.State{}, u.t.Explain(n.path, err)
	case info.Mode()&fs.ModeSymlink != 0 && n.last.After.Type != rootfs.TypeLink && n.orig().Type != rootfs.TypeLink:
		return rootfs.State{}, errSkip("it has become a symbolic link")
	case info.Mode().IsRegular() && links(info) > 1:
		return rootfs.State{}, errSkip("it has become a hard link, so that the file has another name")
	}
	now, err := u.t.State(n.path, nil)
	if err != nil {
		return rootfs.State{}, err
	}
	// The newest change may be one that a crash prevented.
	ours := now.Equal(n.last.After) || n.later == nil && now.Equal(n.begun)
	if now.Type == rootfs.TypeDir && (n.last.After.Type == rootfs.TypeDir || n.last.Before.Type == rootfs.TypeDir) {
		ours = true // whatever its mode
	}
	switch {
	case ours, now.Equal(n.orig()):
		return now, nil
	case n.later != nil && u.doubts(n.later) && u.l.Has(n.path, now):
		return rootfs.State{}, errSkip(doubt(n.later.step) + includeIt)
	case n.later != nil && u.l.Has(n.path, now):
		return rootfs.State{}, errSkip("step " + n.later.step + " changed it later")
	case now.Type == "":
		return rootfs.State{}, errSkip("it has been deleted since the job changed it")
	case now.Digest == n.last.After.Digest && now.Type == n.last.After.Type:
		return rootfs.State{}, errSkip("its mode has been changed since the job changed it")
	}
	return rootfs.State{}, errSkip("it has been changed since the job changed it")
}

func links(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink)
	}
	return 1
}

// remove takes away what the job created.
func (u *undoing) remove(g *goal, now rootfs.State) error {
	if now.Type == rootfs.TypeDir {
		d, err := u.t.Root.Open(g.path)
		if err != nil {
			return u.t.Explain(g.path, err)
		}
		names, _ := d.Readdirnames(1)
		d.Close()
		if len(names) > 0 && u.part {
			return nil // a later step's
		}
		if len(names) > 0 {
			return errSkip("the directory is not empty")
		}
	}
	if err := u.save(g, now); err != nil {
		return err
	}
	if err := u.Note(g, now, ""); err != nil {
		return err
	}
	if err := errors.Join(u.t.Root.Remove(g.path), u.t.Sync(path.Dir(g.path))); err != nil {
		return u.failed(g, now, err)
	}
	if now.Type != rootfs.TypeDir {
		u.report.Removed = append(u.report.Removed, g.path)
	}
	return nil
}

// save keeps what goes away, so that the undo can be undone. What is too large
// for that goes without.
func (u *undoing) save(g *goal, now rootfs.State) error {
	if now.Type != rootfs.TypeFile && now.Type != rootfs.TypeLink {
		return nil
	}
	saved, err := u.l.Capture(u.t, g.path, true)
	var large *rootfs.TooLargeError
	if errors.As(err, &large) {
		return nil
	}
	if err == nil && !saved.Equal(now) {
		return errSkip("it was changed during the undo")
	}
	return err
}

// restore brings back what the job changed or deleted.
func (u *undoing) restore(g *goal, now rootfs.State) error {
	data := g.to.data
	if g.to.Type != rootfs.TypeDir && data == nil {
		var err error
		if data, err = u.l.Load(g.to.Digest); err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return errSkip("its former content was too much to keep")
			}
			return errSkip(err.Error())
		}
	}
	dirs, err := u.t.MissingDirs(g.path)
	if err != nil {
		return err
	}
	if err := u.save(g, now); err != nil {
		return err
	}
	if now.Type != "" && (now.Type == rootfs.TypeDir) != (g.to.Type == rootfs.TypeDir) {
		if err := u.makeWay(g, now); err != nil {
			return err
		}
		now = rootfs.State{}
	}
	if g.to.data != nil { // a merge's: the next undo may have to merge with it
		if err := u.l.Store(data); err != nil {
			return err
		}
	}
	temp := rootfs.TempName(g.path)
	if err := u.Note(g, now, temp); err != nil {
		return err
	}
	for _, d := range dirs {
		if err := u.t.Root.Mkdir(d, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return u.failed(g, now, err)
		}
	}
	switch g.to.Type {
	case rootfs.TypeDir:
		if now.Type == "" {
			err = u.t.Root.Mkdir(g.path, g.to.Mode)
		}
		err = errors.Join(err, u.t.Root.Chmod(g.path, g.to.Mode))
	case rootfs.TypeLink:
		// os.Root lets a link be made that leads outside. It is the user's own.
		if err = u.t.Root.Symlink(string(data), temp); err == nil {
			err = u.t.Root.Rename(temp, g.path)
		}
	default:
		err = u.t.Put(g.path, temp, g.to.Mode, bytes.NewReader(data))
	}
	if err = errors.Join(err, u.t.Sync(path.Dir(g.path))); err != nil {
		return u.failed(g, now, err)
	}
	if g.to.Type != rootfs.TypeDir {
		u.report.Restored = append(u.report.Restored, g.path)
	}
	return nil
}

// makeWay takes away a directory where a file was, or the reverse. It is noted
// by itself, so that after a crash in between nothing is missing.
func (u *undoing) makeWay(g *goal, now rootfs.State) error {
	if now.Type == rootfs.TypeDir {
		if entries, err := fs.ReadDir(u.t.Root.FS(), g.path); err != nil || len(entries) > 0 {
			return errSkip("a directory has taken its place, and it is not empty")
		}
	}
	if err := u.l.Change("", g.delta(now, rootfs.State{})); err != nil {
		return &WriteError{err}
	}
	if err := u.t.Root.Remove(g.path); err != nil {
		if lerr := u.l.Change("", g.delta(rootfs.State{}, now)); lerr != nil {
			return &WriteError{lerr}
		}
		return errSkip(u.t.Explain(g.path, err).Error())
	}
	return nil
}

// failed puts the record right after an undo that could not be made.
func (u *undoing) failed(g *goal, now rootfs.State, err error) error {
	ds := g.deltas(now)
	slices.Reverse(ds)
	for i, d := range ds {
		ds[i].Before, ds[i].After = d.After, d.Before
	}
	if lerr := u.l.Change("", ds...); lerr != nil {
		return &WriteError{lerr}
	}
	if errors.Is(err, syscall.ENOSPC) {
		return err
	}
	return errSkip(u.t.Explain(g.path, err).Error())
}
