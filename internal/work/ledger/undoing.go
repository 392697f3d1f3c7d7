package ledger

import "github.com/adroit-run/adroit/internal/system/rootfs"

// An UndoReport says what Undo did.
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
	// uncertain: what may be somebody else's is undone, too.
	uncertain bool
	report    UndoReport
	links     map[string]*net // while it is planned: where the job put a link in a directory's place
}

// A goal is what an undo makes of a path: what it would be like without the
// changes of the part.
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

// deltas lead from now to the goal. Each is as uncertain as what it undoes, so
// that afterwards nothing is left of the one nor of the other.
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

// delta is a change of the undo's own that is not the goal.
func (g *goal) delta(before, after rootfs.State) PathChange {
	return PathChange{Path: rootfs.RawName(g.path), Before: before, After: after, Uncertain: g.spans[len(g.spans)-1].uncertain, Ignored: g.ignored}
}
