package ledger

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	udiff "github.com/aymanbagabas/go-udiff"
	"golang.org/x/sys/unix"
)

// Undo restores the original content and mode of the paths that this job changed, and removes
// those that it created. A path is skipped, with a reason, if it is not as the job left it. No
// link is followed and nothing outside root is written. Undo is itself recorded in the ledger, as
// a step that can be undone: repeating it does nothing more, and after a crash it continues.
func (l *Ledger) Undo(ctx context.Context, root string) (UndoReport, error) {
	return l.All().Undo(ctx, root)
}

// Undo takes back the changes of the part alone. A path that another step
// changed afterwards is skipped. The end of ctx stops it between two paths; doing
// it again goes on.
func (p Selection) Undo(ctx context.Context, root string) (UndoReport, error) {
	l := p.l
	t, err := rootfs.Open(root)
	if err != nil {
		return UndoReport{}, err
	}
	defer t.Close()
	unlock := t.Lock()
	l.RemoveTemp(t)
	unlock() // what is recovered is joined under the same lock
	if err := l.Recover(ctx); err != nil {
		return UndoReport{}, err
	}
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
	// Deepest first, so that a directory is empty when its turn comes; then files are restored,
	// directories before their content.
	slices.SortStableFunc(away, func(a, b *goal) int { return cmp.Compare(strings.Count(b.path, "/"), strings.Count(a.path, "/")) })
	for i, g := range slices.Concat(away, back) {
		if err := context.Cause(ctx); err != nil {
			return u.report, err
		}
		change := u.restore
		if i < len(away) {
			change = u.remove
		}
		if err := u.do(g, change); err != nil {
			return u.report, err
		}
	}
	u.name(p.uncertainNets())
	if err := u.moveRefs(ctx, p); err != nil {
		return u.report, err
	}
	if dir := l.shared; dir != "" {
		keepReserve(dir)
	}
	u.report.Restored = append(u.report.Restored, unnamed(u.restored, u.report.Restored)...)
	u.report.Removed = append(u.report.Removed, unnamed(u.removed, u.report.Removed)...)
	if len(u.report.Restored)+len(u.report.Removed)+len(u.report.Moved) > 0 {
		u.report.Step = step
	}
	slices.Sort(u.report.Restored)
	slices.Sort(u.report.Removed)
	slices.SortFunc(u.report.Skipped, func(a, b Skipped) int { return cmp.Compare(a.Path, b.Path) })
	return u.report, nil
}

// unnamed returns the directories of dirs that contain none of the named paths. Of nested
// directories it returns the outermost.
func unnamed(dirs, named []string) (out []string) {
	slices.Sort(dirs)
	for _, d := range dirs {
		if below := func(p string) bool { return rootfs.Within(d, p) }; !slices.ContainsFunc(named, below) && !slices.ContainsFunc(out, func(up string) bool { return rootfs.Within(up, d) }) {
			out = append(out, d)
		}
	}
	return out
}

// plan determines the goal of each path. It reports a path that is left alone, and one with the
// only copy of somebody else's text.
func (u *undoing) plan(ns []net) []*goal {
	var goals []*goal
	left, kept, lines := map[string]bool{}, map[string]bool{}, map[string]bool{}
	skip := func(n *net, err error) {
		u.skip(n.path, err)
		// What it was like may be nowhere but under the name that it was moved to.
		left[n.path] = n.orig().Type == rootfs.TypeFile || len(n.foreign()) > 0
		for _, s := range n.all {
			// A copy that was joined has no note of a rename: what was in the file may be under any name.
			own := s.Equal(n.orig()) && s.Size > 0
			kept[s.Digest] = kept[s.Digest] || s.Type == rootfs.TypeFile && (own || len(n.foreign()) > 0)
		}
		u.foreignLines(n, lines)
	}
	u.links, u.names = map[string]*net{}, map[uint64][]*net{}
	for i := range ns {
		n := &ns[i]
		if st, err := u.t.Stat(n.path); err == nil && rootfs.TypeOf(&st) == unix.S_IFREG && st.Nlink > 1 {
			u.names[st.Ino] = append(u.names[st.Ino], n)
		}
		if n.orig().Type == rootfs.TypeDir && n.last.After.Type == rootfs.TypeLink {
			u.links[n.path] = n
		}
	}
	defer func() { u.links = nil }()
	for i := range ns {
		n := &ns[i]
		now, err := u.look(n)
		rewound := err == nil && len(n.spans) > 1 && now.Equal(n.begun) && !now.Equal(n.last.After)
		if rewound { // a crash prevented the newest change
			n.rewind(now)
		}
		g := &goal{net: *n, to: version{State: n.orig()}}
		switch {
		case err != nil:
		case now.Equal(n.orig()) && !now.Equal(n.last.After):
		case rewound, len(n.spans) > 1: // of what is left after a rewind, the last span may not meet now
			if g.steps, err = u.l.without(n, version{State: now}); err == nil {
				g.to = g.steps[0]
			}
		}
		switch {
		case err == nil || n.mixed == nil: // it is said already
		case u.doubts(n.mixed):
			err = errSkip(uncertainReason(n.mixed.step) + includeUncertainHint)
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
		u.skip(g.path, errSkip("it has what was in a file that is left alone"))
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

// takes reports whether undoing a path would remove one of the lines. A sub-agent may have moved
// them from another file, so that this one has the only copy.
func (u *undoing) takes(g *goal, lines map[string]bool) bool {
	if len(lines) == 0 || g.to.Equal(g.last.After) {
		return false
	}
	now, err := sideOf(u.t, g.path, MaxDiff)
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

// name reports the uncertain changes that are left alone, directories where nothing in
// them is reported.
func (u *undoing) name(ns []net) {
	isDir := func(n net) bool { return n.orig().Type == rootfs.TypeDir || n.last.After.Type == rootfs.TypeDir }
	slices.Reverse(ns) // what is in a directory comes first
	for _, n := range ns {
		if isDir(n) && slices.ContainsFunc(u.report.Skipped, func(s Skipped) bool { return rootfs.Within(n.path, s.Path) }) {
			continue
		}
		done := slices.ContainsFunc(u.report.Skipped, func(s Skipped) bool { return s.Path == n.path })
		if done || n.orig().Equal(n.last.After) {
			continue
		}
		if now, err := u.t.State(n.path, nil); err == nil && now.Equal(n.orig()) {
			continue // it is gone
		}
		u.skip(n.path, errSkip(uncertainReason(n.step)+includeUncertainHint))
	}
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
	if broken, ok := errors.AsType[*WriteError](err); ok {
		return broken.Err
	}
	if err != nil {
		u.skip(g.path, err)
	}
	return nil
}

// errSkip carries the reason why a path is left alone.
type errSkip string

func (e errSkip) Error() string { return string(e) }

// A version is a state with its content, as far as that has been read.
type version struct {
	rootfs.State
	data []byte // nil: in the ledger, by its digest
}

// equal reports whether two versions have the same content, regardless of modes.
func (v version) equal(o version) bool { return v.Type == o.Type && v.Digest == o.Digest }

// without removes the selection's changes from now and keeps everybody else's: each span, the
// newest first, by a three-way merge. The first version is without all of them, the others are
// without the spans from theirs on. It returns an errSkip if the changes cannot be separated.
func (l *Ledger) without(n *net, now version) ([]version, error) {
	vs := make([]version, len(n.spans))
	for i := len(n.spans) - 1; i >= 0; i-- {
		s := n.spans[i]
		var err error
		if now, err = l.merge3(version{State: s.to}, now, version{State: s.from}); err != nil {
			return nil, err
		}
		vs[i] = now
	}
	return vs, nil
}

// errTangled reports that the changes of two sides cannot be separated.
const errTangled = errSkip("somebody else changed the same lines in between; undo single steps of it, or edit it by hand")

// merge3 applies the changes from base to theirs to ours.
func (l *Ledger) merge3(base, ours, theirs version) (version, error) {
	out := ours
	switch {
	case ours.equal(base):
		out = theirs
	case theirs.equal(base), ours.equal(theirs):
	default:
		data, err := l.mergeContent(base, ours, theirs)
		if err != nil {
			return version{}, err
		}
		out.State.Digest, out.State.Size, out.data = rootfs.Digest(data), int64(len(data)), data
	}
	if out.Type == rootfs.TypeFile || out.Type == rootfs.TypeDir {
		out.Mode = mergeMode(base, ours, theirs)
	}
	return out, nil
}

// mergeMode prefers the side that changed the mode, and ours if both did.
func mergeMode(base, ours, theirs version) fs.FileMode {
	switch {
	case ours.Type == "":
		return theirs.Mode
	case theirs.Type == "" || ours.Mode != base.Mode && base.Type != "":
		return ours.Mode
	}
	return theirs.Mode
}

// mergeContent merges texts line by line. Lines that one side removed and lines that the other
// side added at the same place do not conflict; two different replacements of the same lines do.
func (l *Ledger) mergeContent(base, ours, theirs version) ([]byte, error) {
	var text [3]string
	for i, v := range []version{base, ours, theirs} {
		if v.Type != rootfs.TypeFile || v.Size > MaxDiff {
			return nil, errSkip("somebody else changed it in between")
		}
		data := v.data
		if data == nil && v.Size > 0 {
			var err error
			if data, err = l.Load(v.Digest); err != nil {
				return nil, errSkip("somebody else changed it in between, and what it was like then is not known any more")
			}
		}
		if bytes.IndexByte(data, 0) >= 0 {
			return nil, errSkip("somebody else changed it in between, and it is not text")
		}
		text[i] = string(data)
	}
	edits, clean := udiff.Merge(udiff.Lines(text[0], text[1]), udiff.Lines(text[0], text[2]))
	if !clean {
		return nil, errTangled
	}
	for i, e := range edits { // a last line without its end would run into what follows it
		if i < len(edits)-1 && e.New != "" && !strings.HasSuffix(e.New, "\n") {
			return nil, errTangled
		}
	}
	merged, err := udiff.Apply(text[0], edits)
	if err != nil {
		return nil, errTangled
	}
	return []byte(merged), nil
}

// An UndoReport describes the result of an undo.
type UndoReport struct {
	Restored []string  `json:"restored,omitempty"` // have their original content and mode again
	Removed  []string  `json:"removed,omitempty"`  // the job had created them
	Moved    []Change  `json:"moved,omitempty"`    // references, back to where they were
	Skipped  []Skipped `json:"skipped,omitempty"`
	Step     string    `json:"step,omitempty"` // that the undo is, and is undone by; "" if it did nothing
}

// A Skipped path was left as it is.
type Skipped struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

type undoing struct {
	l    *Ledger
	t    *rootfs.Tree
	part bool // later steps may have worked in the same directories
	// uncertain: changes that may be somebody else's are undone, too.
	uncertain bool
	report    UndoReport
	restored  []string          // directories
	removed   []string          // directories
	names     map[uint64][]*net // by inode, of files that have several
	links     map[string]*net   // while it is planned: where the job put a link in a directory's place
}

// A goal is the target state of a path in an undo: its state without the changes of the selection.
type goal struct {
	net
	to    version
	steps []version // see without
}

// doubts reports whether a change is left alone because it is uncertain.
func (u *undoing) doubts(e *entry) bool { return e.Uncertain && !u.uncertain }

func (u *undoing) skip(p string, err error) {
	u.report.Skipped = append(u.report.Skipped, Skipped{Path: p, Reason: err.Error()})
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

// deltas returns the changes from now to the goal. Each is as uncertain as the change that it
// undoes, so that afterwards the two cancel out.
func (g *goal) deltas(now rootfs.State) []PathChange {
	var ds []PathChange
	for i := len(g.steps) - 1; i > 0; i-- {
		if g.spans[i].uncertain != g.spans[i-1].uncertain {
			ds = append(ds, PathChange{Path: rootfs.RawName(g.path), Before: now, After: g.steps[i].State, Uncertain: g.spans[i].uncertain, Ignored: g.ignored})
			now = g.steps[i].State
		}
	}
	return append(ds, PathChange{Path: rootfs.RawName(g.path), Before: now, After: g.to.State, Uncertain: g.spans[0].uncertain, Ignored: g.ignored})
}

// delta returns a change of the undo's own that is not the goal.
func (g *goal) delta(before, after rootfs.State) PathChange {
	return PathChange{Path: rootfs.RawName(g.path), Before: before, After: after, Uncertain: g.spans[len(g.spans)-1].uncertain, Ignored: g.ignored}
}
