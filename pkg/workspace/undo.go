package workspace

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
func (p Part) Undo(root string) (UndoReport, error) {
	l := p.l
	if err := l.Recover(context.Background()); err != nil {
		return UndoReport{}, err
	}
	t, err := openTree(root)
	if err != nil {
		return UndoReport{}, err
	}
	defer t.close()
	defer t.lock()()
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
	t    *tree
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
		left[n.path] = n.orig().Type == isFile || len(n.foreign()) > 0
		for _, s := range n.all {
			kept[s.Digest] = kept[s.Digest] || s.Type == isFile && len(n.foreign()) > 0
		}
		u.foreignLines(n, lines)
	}
	for i := range ns {
		n := &ns[i]
		now, err := u.look(n)
		if err == nil && len(n.spans) > 1 && now.same(n.begun) && !now.same(n.last.After) {
			n.rewind(now) // a crash prevented the newest change
		}
		g := &goal{net: *n, to: version{state: n.orig()}}
		switch {
		case err != nil:
		case now.same(n.orig()) && !now.same(n.last.After):
		case len(n.spans) > 1:
			if g.steps, err = u.l.without(n, version{state: now}); err == nil {
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
		if err != nil && n.orig().same(n.last.After) && len(n.foreign()) == 0 {
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
		if s.from.same(n.spans[i].to) || s.from.Type != isFile || s.from.Size > maxDiff {
			continue
		}
		before, _ := u.l.load(n.spans[i].to.Digest) // without it all lines count
		after, _ := u.l.load(s.from.Digest)
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
	if len(lines) == 0 || g.to.same(g.last.After) {
		return false
	}
	now, err := u.t.side(g.path)
	if err != nil || now.Type != isFile || now.large {
		return false
	}
	to := g.to.data
	if to == nil && g.to.Digest != "" {
		to, _ = u.l.load(g.to.Digest)
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
		if done || n.orig().same(n.last.After) || n.orig().Type == isDir || n.orig().Type == "" && n.last.After.Type == isDir {
			continue
		}
		if now, err := u.t.state(n.path, nil); err == nil && now.same(n.orig()) {
			continue // it is gone
		}
		u.skip(n.path, errSkip(doubt(n.step)+includeIt))
	}
}

func (u *undoing) skip(p string, err error) {
	u.report.Skipped = append(u.report.Skipped, Skipped{Path: p, Reason: err.Error()})
}

// do undoes one path. Only an error of the ledger itself ends the whole.
func (u *undoing) do(g *goal, how func(*goal, state) error) error {
	now, err := u.look(&g.net) // others may have been at it since it was planned
	if err == nil && now.same(g.to.state) && u.l.has(g.path, now) {
		return nil
	}
	if err == nil && now.same(g.to.state) {
		return u.note(g, now, "") // by a crash, or by somebody's hand
	}
	if err == nil {
		err = how(g, now)
	}
	if errors.Is(err, syscall.ENOSPC) && u.l.giveReserve() {
		return u.do(g, how)
	}
	var broken *ledgerError
	if errors.As(err, &broken) {
		return broken.err
	}
	if err != nil {
		u.skip(g.path, err)
	}
	return nil
}

type ledgerError struct{ err error }

func (e *ledgerError) Error() string { return e.err.Error() }
func (e *ledgerError) Unwrap() error { return e.err }

// note puts the path's return to its original state in the journal.
func (u *undoing) note(g *goal, now state, temp string) error {
	if err := u.l.change(temp, g.deltas(now)...); err != nil {
		return &ledgerError{err}
	}
	return nil
}

// deltas lead from now to the goal. Each is as uncertain as what it undoes, so
// that afterwards nothing is left of the one nor of the other.
func (g *goal) deltas(now state) []delta {
	var ds []delta
	for i := len(g.steps) - 1; i > 0; i-- {
		if g.spans[i].uncertain != g.spans[i-1].uncertain {
			ds = append(ds, delta{Path: rawName(g.path), Before: now, After: g.steps[i].state, Uncertain: g.spans[i].uncertain})
			now = g.steps[i].state
		}
	}
	return append(ds, delta{Path: rawName(g.path), Before: now, After: g.to.state, Uncertain: g.spans[0].uncertain})
}

// delta is a change of the undo's own that is not the goal.
func (g *goal) delta(before, after state) delta {
	return delta{Path: rawName(g.path), Before: before, After: after, Uncertain: g.spans[len(g.spans)-1].uncertain}
}

// look reads the path's state and refuses one that is not the job's.
func (u *undoing) look(n *net) (state, error) {
	if err := u.t.plain(n.path); err != nil {
		return state{}, errSkip("a directory above it has become a symbolic link")
	}
	info, err := u.t.root.Lstat(n.path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
	case err != nil:
		return state{}, u.t.explain(n.path, err)
	case info.Mode()&fs.ModeSymlink != 0 && n.last.After.Type != isLink && n.orig().Type != isLink:
		return state{}, errSkip("it has become a symbolic link")
	case info.Mode().IsRegular() && links(info) > 1:
		return state{}, errSkip("it has become a hard link, so that the file has another name")
	}
	now, err := u.t.state(n.path, nil)
	if err != nil {
		return state{}, err
	}
	// The newest change may be one that a crash prevented.
	ours := now.same(n.last.After) || n.later == nil && now.same(n.begun)
	if now.Type == isDir && (n.last.After.Type == isDir || n.last.Before.Type == isDir) {
		ours = true // whatever its mode
	}
	switch {
	case ours, now.same(n.orig()):
		return now, nil
	case n.later != nil && u.doubts(n.later) && u.l.has(n.path, now):
		return state{}, errSkip(doubt(n.later.step) + includeIt)
	case n.later != nil && u.l.has(n.path, now):
		return state{}, errSkip("step " + n.later.step + " changed it later")
	case now.Type == "":
		return state{}, errSkip("it has been deleted since the job changed it")
	case now.Digest == n.last.After.Digest && now.Type == n.last.After.Type:
		return state{}, errSkip("its mode has been changed since the job changed it")
	}
	return state{}, errSkip("it has been changed since the job changed it")
}

func links(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink)
	}
	return 1
}

// remove takes away what the job created.
func (u *undoing) remove(g *goal, now state) error {
	if now.Type == isDir {
		d, err := u.t.root.Open(g.path)
		if err != nil {
			return u.t.explain(g.path, err)
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
	if err := u.note(g, now, ""); err != nil {
		return err
	}
	if err := errors.Join(u.t.root.Remove(g.path), u.t.sync(path.Dir(g.path))); err != nil {
		return u.failed(g, now, err)
	}
	if now.Type != isDir {
		u.report.Removed = append(u.report.Removed, g.path)
	}
	return nil
}

// save keeps what goes away, so that the undo can be undone. What is too large
// for that goes without.
func (u *undoing) save(g *goal, now state) error {
	if now.Type != isFile && now.Type != isLink {
		return nil
	}
	saved, err := u.l.capture(u.t, g.path, true)
	var large *TooLargeError
	if errors.As(err, &large) {
		return nil
	}
	if err == nil && !saved.same(now) {
		return errSkip("it was changed during the undo")
	}
	return err
}

// restore brings back what the job changed or deleted.
func (u *undoing) restore(g *goal, now state) error {
	data := g.to.data
	if g.to.Type != isDir && data == nil {
		var err error
		if data, err = u.l.load(g.to.Digest); err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return errSkip("its former content was too much to keep")
			}
			return errSkip(err.Error())
		}
	}
	dirs, err := u.t.missing(g.path)
	if err != nil {
		return err
	}
	if err := u.save(g, now); err != nil {
		return err
	}
	if now.Type != "" && (now.Type == isDir) != (g.to.Type == isDir) {
		if err := u.makeWay(g, now); err != nil {
			return err
		}
		now = state{}
	}
	if g.to.data != nil { // a merge's: the next undo may have to merge with it
		if err := u.l.store(data); err != nil {
			return err
		}
	}
	temp := tempName(g.path)
	if err := u.note(g, now, temp); err != nil {
		return err
	}
	for _, d := range dirs {
		if err := u.t.root.Mkdir(d, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return u.failed(g, now, err)
		}
	}
	switch g.to.Type {
	case isDir:
		if now.Type == "" {
			err = u.t.root.Mkdir(g.path, g.to.Mode)
		}
		err = errors.Join(err, u.t.root.Chmod(g.path, g.to.Mode))
	case isLink:
		// os.Root lets a link be made that leads outside. It is the user's own.
		if err = u.t.root.Symlink(string(data), temp); err == nil {
			err = u.t.root.Rename(temp, g.path)
		}
	default:
		err = u.t.put(g.path, temp, g.to.Mode, bytes.NewReader(data))
	}
	if err = errors.Join(err, u.t.sync(path.Dir(g.path))); err != nil {
		return u.failed(g, now, err)
	}
	if g.to.Type != isDir {
		u.report.Restored = append(u.report.Restored, g.path)
	}
	return nil
}

// makeWay takes away a directory where a file was, or the reverse. It is noted
// by itself, so that after a crash in between nothing is missing.
func (u *undoing) makeWay(g *goal, now state) error {
	if now.Type == isDir {
		if entries, err := fs.ReadDir(u.t.root.FS(), g.path); err != nil || len(entries) > 0 {
			return errSkip("a directory has taken its place, and it is not empty")
		}
	}
	if err := u.l.change("", g.delta(now, state{})); err != nil {
		return &ledgerError{err}
	}
	if err := u.t.root.Remove(g.path); err != nil {
		if lerr := u.l.change("", g.delta(state{}, now)); lerr != nil {
			return &ledgerError{lerr}
		}
		return errSkip(u.t.explain(g.path, err).Error())
	}
	return nil
}

// failed puts the record right after an undo that could not be made.
func (u *undoing) failed(g *goal, now state, err error) error {
	ds := g.deltas(now)
	slices.Reverse(ds)
	for i, d := range ds {
		ds[i].Before, ds[i].After = d.After, d.Before
	}
	if lerr := u.l.change("", ds...); lerr != nil {
		return &ledgerError{lerr}
	}
	if errors.Is(err, syscall.ENOSPC) {
		return err
	}
	return errSkip(u.t.explain(g.path, err).Error())
}
