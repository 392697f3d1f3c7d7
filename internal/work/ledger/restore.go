package ledger

import (
	"bytes"
	"errors"
	"io/fs"
	"path"
	"slices"
	"syscall"

	"github.com/adroit-run/adroit/internal/system/rootfs"
)

// look reads the path's state and refuses one that is not the job's: the file was
// edited by a person since, or by another program.
func (u *undoing) look(n *net) (rootfs.State, error) {
	if err := u.t.CheckNoLinks(n.path); err != nil {
		if u.linked(n.path) && n.last.After.Type == "" {
			return rootfs.State{}, nil
		}
		return rootfs.State{}, errSkip("a directory above it has become a symbolic link")
	}
	info, err := u.t.Root.Lstat(n.path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
	case err != nil:
		return rootfs.State{}, u.t.Explain(n.path, err)
	case info.Mode()&fs.ModeSymlink != 0 && n.last.After.Type != rootfs.TypeLink && n.orig().Type != rootfs.TypeLink:
		return rootfs.State{}, errSkip("it has become a symbolic link")
	case n.orig().Type != "" && u.otherNames(n, info) > 0: // a name that the job made can go
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
		return rootfs.State{}, errSkip(uncertainReason(n.later.step) + includeUncertainHint)
	case n.later != nil && u.l.Has(n.path, now):
		return rootfs.State{}, errSkip("step " + n.later.step + " changed it later")
	case now.Type == "":
		return rootfs.State{}, errSkip("it has been deleted since the job changed it")
	case now.Digest == n.last.After.Digest && now.Type == n.last.After.Type:
		return rootfs.State{}, errSkip("its mode has been changed since the job changed it")
	}
	return rootfs.State{}, errSkip("it has been changed since the job changed it")
}

// linked reports whether a directory above a path is a link that the job put there, and
// that goes before the path's turn comes.
func (u *undoing) linked(p string) bool {
	for d := path.Dir(p); d != "."; d = path.Dir(d) {
		if n := u.links[d]; n != nil && u.t.CheckNoLinks(d) == nil {
			now, err := u.t.State(d, nil)
			return err == nil && now.Equal(n.last.After)
		}
	}
	return false
}

// otherNames returns how many names a file has beside its own and those that the job gave it, which
// get what they had.
func (u *undoing) otherNames(n *net, info fs.FileInfo) int {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.Mode().IsRegular() {
		return 0
	}
	others := int(st.Nlink) - 1
	for _, o := range u.names[st.Ino] {
		if !o.orig().Equal(n.orig()) {
			others--
		}
	}
	return others
}

// remove removes a file that the job created.
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
	if now.Type == rootfs.TypeDir {
		u.removed = append(u.removed, g.path)
	} else {
		u.report.Removed = append(u.report.Removed, g.path)
	}
	return nil
}

// save keeps the content that is about to go, so that the undo can be undone, unless it is too
// large.
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

// restore restores a file that the job changed or deleted.
func (u *undoing) restore(g *goal, now rootfs.State) error {
	data := g.to.data
	if g.to.Type != rootfs.TypeDir && data == nil {
		var err error
		if data, err = u.l.Load(g.to.Digest); err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return errSkip("its former content was not kept")
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
	var special fs.FileMode // which no change records, see Traits
	if info, err := u.t.Root.Lstat(g.path); err == nil && now.Type == g.to.Type {
		special = info.Mode() & rootfs.SpecialBits
	}
	switch g.to.Type {
	case rootfs.TypeDir:
		if now.Type == "" {
			err = u.t.Root.Mkdir(g.path, g.to.Mode)
		}
		err = errors.Join(err, u.t.Root.Chmod(g.path, g.to.Mode|special), u.t.Sync(path.Dir(g.path)))
	case rootfs.TypeLink:
		// os.Root lets a link be made that leads outside. It is the user's own.
		if err = u.t.Root.Symlink(string(data), temp); err == nil {
			err = u.t.Rename(temp, g.path)
		}
	default:
		err = u.t.Put(g.path, temp, g.to.Mode|special, bytes.NewReader(data))
	}
	if err != nil {
		return u.failed(g, now, err)
	}
	if g.to.Type == rootfs.TypeDir {
		u.restored = append(u.restored, g.path)
	} else {
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
