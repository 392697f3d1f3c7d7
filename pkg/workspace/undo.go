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
	if err := l.settle(context.Background()); err != nil {
		return UndoReport{}, err
	}
	t, err := openTree(root)
	if err != nil {
		return UndoReport{}, err
	}
	defer t.close()
	defer t.lock()()
	ns := l.nets(p.take)
	l.mu.Lock()
	u := undoing{l: l.At(undoStep + strconv.Itoa(l.undone+1)), t: t, part: !p.whole}
	l.mu.Unlock()
	var back, away []net
	for _, n := range ns {
		if n.orig.Type == "" {
			away = append(away, n)
		} else {
			back = append(back, n)
		}
	}
	// Deepest first, so that a directory is empty when its turn comes; what is
	// put back follows, directories before what is in them.
	slices.SortStableFunc(away, func(a, b net) int { return cmp.Compare(strings.Count(b.path, "/"), strings.Count(a.path, "/")) })
	for _, n := range away {
		if err := u.do(n, u.remove); err != nil {
			return u.report, err
		}
	}
	for _, n := range back {
		if err := u.do(n, u.restore); err != nil {
			return u.report, err
		}
	}
	slices.Sort(u.report.Restored)
	slices.Sort(u.report.Removed)
	slices.SortFunc(u.report.Skipped, func(a, b Skipped) int { return cmp.Compare(a.Path, b.Path) })
	return u.report, nil
}

type undoing struct {
	l      *Ledger
	t      *tree
	part   bool // later steps may have worked in the same directories
	report UndoReport
}

// errSkip carries the reason why a path is left alone.
type errSkip string

func (e errSkip) Error() string { return string(e) }

// do undoes one path. Only an error of the ledger itself ends the whole.
func (u *undoing) do(n net, how func(net, state) error) error {
	now, err := u.look(n)
	if err == nil && now.same(n.orig) && u.l.has(n.path, now) {
		return nil
	}
	if err == nil && now.same(n.orig) {
		return u.note(n, now, "") // by a crash, or by somebody's hand
	}
	if err == nil {
		err = how(n, now)
	}
	var broken *ledgerError
	if errors.As(err, &broken) {
		return broken.err
	}
	if err != nil {
		u.report.Skipped = append(u.report.Skipped, Skipped{Path: n.path, Reason: err.Error()})
	}
	return nil
}

type ledgerError struct{ err error }

func (e *ledgerError) Error() string { return e.err.Error() }

// note puts the path's return to its original state in the journal.
func (u *undoing) note(n net, now state, temp string) error {
	if err := u.l.change(temp, delta{Path: rawName(n.path), Before: now, After: n.orig}); err != nil {
		return &ledgerError{err}
	}
	return nil
}

// look reads the path's state and refuses one that is not the job's.
func (u *undoing) look(n net) (state, error) {
	if err := u.t.plain(n.path); err != nil {
		return state{}, errSkip("a directory above it has become a symbolic link")
	}
	info, err := u.t.root.Lstat(n.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return state{}, u.t.explain(n.path, err)
	case info.Mode()&fs.ModeSymlink != 0 && n.last.After.Type != isLink && n.orig.Type != isLink:
		return state{}, errSkip("it has become a symbolic link")
	case info.Mode().IsRegular() && links(info) > 1:
		return state{}, errSkip("it has become a hard link, so that the file has another name")
	}
	now, err := u.t.state(n.path, nil)
	if err != nil {
		return state{}, err
	}
	// The newest change may be one that a crash prevented.
	ours := now.same(n.last.After) || n.later == "" && now.same(n.last.Before) || now.same(n.orig)
	if now.Type == isDir && (n.last.After.Type == isDir || n.last.Before.Type == isDir) {
		ours = true // whatever its mode
	}
	switch {
	case now.same(n.orig):
		return now, nil
	case n.mixed != "":
		return state{}, errSkip("step " + n.mixed + " changed it in between")
	case ours:
		return now, nil
	case n.later != "" && u.l.has(n.path, now):
		return state{}, errSkip("step " + n.later + " changed it later")
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
func (u *undoing) remove(n net, now state) error {
	if now.Type == isDir {
		d, err := u.t.root.Open(n.path)
		if err != nil {
			return u.t.explain(n.path, err)
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
	if err := u.save(n, now); err != nil {
		return err
	}
	if err := u.note(n, now, ""); err != nil {
		return err
	}
	if err := errors.Join(u.t.root.Remove(n.path), u.t.sync(path.Dir(n.path))); err != nil {
		return u.failed(n, now, err)
	}
	if now.Type != isDir {
		u.report.Removed = append(u.report.Removed, n.path)
	}
	return nil
}

// save keeps what goes away, so that the undo can be undone. What is too large
// for that goes without.
func (u *undoing) save(n net, now state) error {
	if now.Type != isFile && now.Type != isLink {
		return nil
	}
	_, err := u.l.capture(u.t, n.path, true)
	var large *TooLargeError
	if errors.As(err, &large) {
		return nil
	}
	return err
}

// restore brings back what the job changed or deleted.
func (u *undoing) restore(n net, now state) error {
	var data []byte
	if n.orig.Type != isDir {
		var err error
		if data, err = u.l.load(n.orig.Digest); err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return errSkip("its former content was too much to keep")
			}
			return errSkip(err.Error())
		}
	}
	dirs, err := u.t.missing(n.path)
	if err != nil {
		return err
	}
	if err := u.save(n, now); err != nil {
		return err
	}
	if now.Type != "" && (now.Type == isDir) != (n.orig.Type == isDir) {
		if err := u.makeWay(n, now); err != nil {
			return err
		}
		now = state{}
	}
	temp := tempName(n.path)
	if err := u.note(n, now, temp); err != nil {
		return err
	}
	for _, d := range dirs {
		if err := u.t.root.Mkdir(d, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return u.failed(n, now, err)
		}
	}
	switch n.orig.Type {
	case isDir:
		if now.Type == "" {
			err = u.t.root.Mkdir(n.path, n.orig.Mode)
		}
		err = errors.Join(err, u.t.root.Chmod(n.path, n.orig.Mode))
	case isLink:
		// os.Root lets a link be made that leads outside. It is the user's own.
		if err = u.t.root.Symlink(string(data), temp); err == nil {
			err = u.t.root.Rename(temp, n.path)
		}
	default:
		err = u.t.put(n.path, temp, n.orig.Mode, bytes.NewReader(data))
	}
	if err = errors.Join(err, u.t.sync(path.Dir(n.path))); err != nil {
		return u.failed(n, now, err)
	}
	if n.orig.Type != isDir {
		u.report.Restored = append(u.report.Restored, n.path)
	}
	return nil
}

// makeWay takes away a directory where a file was, or the reverse. It is noted
// by itself, so that after a crash in between nothing is missing.
func (u *undoing) makeWay(n net, now state) error {
	if now.Type == isDir {
		if entries, err := fs.ReadDir(u.t.root.FS(), n.path); err != nil || len(entries) > 0 {
			return errSkip("a directory has taken its place, and it is not empty")
		}
	}
	if err := u.l.change("", delta{Path: rawName(n.path), Before: now}); err != nil {
		return &ledgerError{err}
	}
	if err := u.t.root.Remove(n.path); err != nil {
		if lerr := u.l.change("", delta{Path: rawName(n.path), After: now}); lerr != nil {
			return &ledgerError{lerr}
		}
		return errSkip(u.t.explain(n.path, err).Error())
	}
	return nil
}

// failed puts the record right after an undo that could not be made.
func (u *undoing) failed(n net, now state, err error) error {
	if lerr := u.l.change("", delta{Path: rawName(n.path), Before: n.orig, After: now}); lerr != nil {
		return &ledgerError{lerr}
	}
	return errSkip(u.t.explain(n.path, err).Error())
}
