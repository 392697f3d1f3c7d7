package overlay

import (
	"errors"
	"io/fs"
	"path"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/work/ledger"
)

// errNotEmpty reports that a directory was not removed because somebody put something into it.
var errNotEmpty = errors.New("it is not empty")

// do performs one op. whole reports that everything in a new directory came
// with it.
func (j *joiner) do(i int) (whole bool, err error) {
	op := &j.ops[i]
	switch op.kind {
	case opNothing:
		return false, nil
	case opKeep:
		return false, j.Keep(op)
	}
	above, err := j.parent(j.above, op.path)
	if err != nil && op.kind != opRemove && op.kind != opRmdir {
		return false, err
	}
	if err == nil {
		defer unix.Close(above)
	}
	name := path.Base(op.path)
	if op.kind == opDrop {
		return false, rootfs.UnlinkAt(above, name, 0)
	}
	below, err := j.parent(j.root, op.path)
	if err != nil {
		if op.kind == opRemove || op.kind == opRmdir {
			return false, errNotEmpty
		}
		return false, j.refuse(op, "a directory above it was removed or replaced here while the command ran")
	}
	defer unix.Close(below)
	act := func() error {
		switch op.kind {
		case opRemove:
			return j.remove(op, below, name)
		case opRmdir:
			err := rootfs.UnlinkAt(below, name, unix.AT_REMOVEDIR)
			if err == unix.ENOTEMPTY || err == unix.EEXIST {
				return errNotEmpty
			}
			if err == unix.ENOENT {
				return nil
			}
			return err
		case opDir:
			return j.mode(op, below, name)
		case opTree:
			whole, err = j.tree(op, j.ops[i+1:op.after], above, below, name)
			return err
		}
		err := j.Put(op, above, below, name)
		if err == nil && op.copied && !op.alike() && !op.inPlace {
			if fd, err := rootfs.OpenAt(below, name, unix.O_RDONLY|unix.O_NONBLOCK, 0); err == nil {
				stripXattrs(fd)
				unix.Close(fd)
			}
		}
		return err
	}
	if err = act(); errors.Is(err, fs.ErrPermission) && j.Open(below, path.Dir(op.path)) {
		err = act()
	}
	return whole, err
}

// Open makes a directory writable until the end: the command may have changed
// its mode, worked in it and changed it back.
func (j *joiner) Open(fd int, dir string) bool {
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil || st.Mode&0o700 == 0o700 || unix.Fchmod(fd, st.Mode&0o7777|0o700) != nil {
		return false
	}
	if _, ok := j.modes[dir]; !ok {
		j.modes[dir] = st.Mode & 0o7777
	}
	if _, ok := j.times[dir]; !ok {
		j.times[dir] = st.Mtim
	}
	return true
}

// Keep moves the command's version aside and reports where it is.
func (j *joiner) Keep(op *operation) error {
	to, err := j.keepAside(op)
	switch {
	case err != nil:
		return err
	case op.asked:
		j.report.Asked = append(j.report.Asked, Aside{op.path, to, op.why})
	case op.denied:
		j.report.Denied = append(j.report.Denied, ledger.Skipped{Path: op.path, Reason: op.why + "; the command's version is kept in " + to})
	case op.why != "":
		j.report.Aside = append(j.report.Aside, Aside{op.path, to, op.why})
	default:
		for i, c := range j.report.Conflicts {
			if c.Path == op.path {
				j.report.Conflicts[i].Reason += "; the command's version is kept in " + to
			}
		}
	}
	return nil
}

// refuse handles an operation that turns out to be a conflict only when it is performed.
func (j *joiner) refuse(op *operation, why string) error {
	if to, err := j.keepAside(op); err == nil {
		why += "; the command's version is kept in " + to
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return &rootfs.PathError{Name: op.path, Reason: why}
}

// unchanged reports whether a file is the one that was looked at.
func unchanged(now, then *unix.Stat_t) bool {
	return now != nil && then != nil && now.Ino == then.Ino && now.Dev == then.Dev && now.Size == then.Size && now.Mtim == then.Mtim && now.Mode == then.Mode
}

// remove removes a file, unless somebody changes it at this moment: it is renamed first, so that
// the removed file is the one that was inspected.
func (j *joiner) remove(op *operation, dir int, name string) error {
	if op.quiet {
		if now := lstat(dir, name); now != nil && !unchanged(now, op.low) {
			return &rootfs.PathError{Name: op.path, Reason: keptHere}
		}
		if err := rootfs.UnlinkAt(dir, name, 0); err != unix.ENOENT {
			return err
		}
		return nil
	}
	err := rootfs.RenameAt(dir, name, dir, j.o.Temp, unix.RENAME_NOREPLACE)
	if err == unix.ENOENT {
		return nil
	}
	if err == unix.EINVAL { // a file system without the flag
		err = rootfs.RenameAt(dir, name, dir, j.o.Temp, 0)
	}
	if err != nil {
		return err
	}
	j.at("removing " + op.path)
	if !unchanged(lstat(dir, j.o.Temp), op.low) {
		if err := rootfs.RenameAt(dir, j.o.Temp, dir, name, unix.RENAME_NOREPLACE); err != nil {
			return err
		}
		return &rootfs.PathError{Name: op.path, Reason: keptHere}
	}
	return rootfs.UnlinkAt(dir, j.o.Temp, 0)
}

// mode gives a directory of both the mode that the command gave it, if it still
// is the one that was looked at.
func (j *joiner) mode(op *operation, below int, name string) error {
	if op.now.Mode == op.was.Mode && op.traits == "" {
		return nil
	}
	fd, err := rootfs.OpenSame(below, name, rootfs.FileID(op.low))
	if errors.Is(err, rootfs.ErrAnother) || errors.Is(err, unix.ENOENT) {
		return &rootfs.PathError{Name: op.path, Reason: replacedHere}
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	delete(j.modes, op.path)
	if op.traits != "" {
		if dir, err := rootfs.OpenAt(fd, ".", unix.O_RDONLY|unix.O_DIRECTORY, 0); err == nil {
			rootfs.SetAttrs(dir, op.attrs)
			unix.Close(dir)
		}
	}
	return rootfs.ChmodFile(fd, op.up.Mode&0o7777)
}

// tree makes a directory that is new, at once if nothing in it has to be left
// out.
func (j *joiner) tree(op *operation, in []operation, above, below int, name string) (whole bool, err error) {
	whole = !slices.ContainsFunc(in, func(o operation) bool {
		_, linked := j.stays[o.up.Ino]
		return o.kind != opPut && o.kind != opTree || linked
	})
	mode := op.up.Mode & 0o7777
	if whole {
		up, err := rootfs.OpenSame(above, name, rootfs.FileID(&op.up))
		if err != nil {
			return false, err
		}
		defer unix.Close(up)
		err = rootfs.ChmodFile(up, mode)
		if err == nil {
			err = rootfs.RenameAt(above, name, below, name, unix.RENAME_NOREPLACE)
		}
		if err == nil {
			return true, nil
		}
		if err != unix.EXDEV && err != unix.EEXIST && err != unix.EINVAL {
			return false, err
		}
		_ = rootfs.ChmodFile(up, mode|0o700) // to be read
	}
	if err := rootfs.MkdirAt(below, name, 0o700); err != nil && err != unix.EEXIST {
		return false, err
	}
	fd, err := rootfs.OpenAt(below, name, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err == unix.ENOTDIR || err == unix.ELOOP {
		return true, j.refuse(op, "a file was made here in its place while the command ran")
	}
	if err != nil {
		return false, err
	}
	defer unix.Close(fd)
	if names, err := readNames(fd); err == nil && len(names) == 0 { // else it is somebody else's as well
		j.modes[op.path], j.times[op.path] = mode, op.up.Mtim
		return false, unix.Fchmod(fd, mode|0o700)
	}
	return false, nil
}

// Put brings a file into the workspace.
func (j *joiner) Put(op *operation, above, below int, name string) error {
	if op.alike() {
		return j.touch(op, above, below, name)
	}
	if op.inPlace {
		return j.overwrite(op, above, below, name)
	}
	from, src := above, name
	if op.merged != "" {
		own, err := unix.Open(j.o.dir, rootfs.PathOnly|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(own)
		from, src = own, op.merged
	} else if first, ok := j.stays[op.up.Ino]; ok {
		_ = rootfs.UnlinkAt(below, j.o.Temp, 0)
		err := j.link(first, below)
		if errors.Is(err, rootfs.ErrAnother) || errors.Is(err, unix.ENOENT) {
			return j.refuse(op, first.path+", of which it is another name, "+replacedHere)
		}
		if err != nil {
			return err
		}
		defer func() { _ = rootfs.UnlinkAt(below, j.o.Temp, 0) }()
		from, src = below, j.o.Temp
	}
	if op.low == nil {
		err := rootfs.RenameAt(from, src, below, name, unix.RENAME_NOREPLACE)
		if err == unix.EXDEV {
			if err = j.copyHere(op, from, src, below); err == nil {
				err = rootfs.RenameAt(below, j.o.Temp, below, name, unix.RENAME_NOREPLACE)
			}
			if err != nil {
				_ = rootfs.UnlinkAt(below, j.o.Temp, 0)
			}
		}
		if err == unix.EEXIST {
			return j.refuse(op, "somebody made it here while the command ran")
		}
		return j.used(op, above, name, err)
	}
	err := j.swap(op, from, src, below, name)
	return j.used(op, above, name, err)
}

// used removes a joined file from the upper layer.
func (j *joiner) used(op *operation, above int, name string, err error) error {
	if err != nil {
		return err
	}
	j.at("joined " + op.path)
	if err := rootfs.UnlinkAt(above, name, 0); err != nil && err != unix.ENOENT {
		return err
	}
	return nil
}

// swap exchanges a file in the workspace for the new content atomically and checks the old one: if
// it is not the file that was inspected before, it is put back.
func (j *joiner) swap(op *operation, from int, src string, below int, name string) error {
	err := rootfs.RenameAt(from, src, below, name, unix.RENAME_EXCHANGE)
	if err == unix.EXDEV {
		if err := j.copyHere(op, from, src, below); err != nil {
			_ = rootfs.UnlinkAt(below, j.o.Temp, 0)
			return err
		}
		from, src = below, j.o.Temp
		defer func() { _ = rootfs.UnlinkAt(below, j.o.Temp, 0) }()
		err = rootfs.RenameAt(from, src, below, name, unix.RENAME_EXCHANGE)
	}
	switch {
	case err == unix.EINVAL || err == unix.ENOSYS: // a file system that has no exchange
		if !unchanged(lstat(below, name), op.low) {
			return j.refuse(op, changedHere)
		}
		return rootfs.RenameAt(from, src, below, name, 0)
	case err == unix.ENOENT:
		return j.refuse(op, removedHere)
	case err != nil:
		return err
	}
	j.at("swapped " + op.path)
	if unchanged(lstat(from, src), op.low) {
		if op.merged != "" && src == op.merged {
			return rootfs.UnlinkAt(from, src, 0)
		}
		return nil // used or the deferred call removes it
	}
	if err := rootfs.RenameAt(from, src, below, name, unix.RENAME_EXCHANGE); err != nil {
		return err
	}
	return j.refuse(op, changedHere)
}

// touch gives a file the times that the command gave it, without its content.
func (j *joiner) touch(op *operation, above, below int, name string) error {
	if op.up.Mtim != op.low.Mtim && unchanged(lstat(below, name), op.low) {
		if err := rootfs.SetTimesAt(below, name, op.up.Atim, op.up.Mtim); err != nil {
			return err
		}
	}
	return j.used(op, above, name, nil)
}

// alike reports whether the command changed no more of a file than its times.
func (op *operation) alike() bool {
	return op.kind == opPut && op.traits == "" && op.merged == "" && op.low != nil && op.was.Type != "" && op.was.Equal(op.now)
}

// findStaying decides which files have to stay the ones they are, and notes the
// hard links that the command made to such files.
func (j *joiner) findStaying() {
	j.stays = map[uint64]place{}
	for i := range j.ops {
		op := &j.ops[i]
		if op.kind == opPut && !op.alike() {
			op.inPlace = j.keepsInode(op)
		}
		if op.up.Mode&unix.S_IFMT == unix.S_IFLNK {
			continue // nothing writes to a link: a name of its own does as well
		}
		if op.up.Nlink > 1 && op.low != nil && (op.inPlace || op.alike() || op.kind == opDrop && op.copied) {
			j.stays[op.up.Ino] = place{op.path, rootfs.FileID(op.low)}
		}
	}
}

// keepsInode reports whether a file is written to rather than replaced, since
// others may have it open for long: a database, or the log of a server. Files
// that are recorded are replaced, as by an editor.
func (j *joiner) keepsInode(op *operation) bool {
	if !op.copied || op.merged != "" || op.low == nil || op.low.Mode&unix.S_IFMT != unix.S_IFREG || op.up.Mode&unix.S_IFMT != unix.S_IFREG || op.low.Nlink > 1 {
		return false
	}
	if op.quiet {
		return true
	}
	dir, err := j.parent(j.root, op.path)
	if err != nil {
		return false
	}
	defer unix.Close(dir)
	return database(dir, path.Base(op.path))
}

// database reports whether a file is one of SQLite's.
func database(dir int, name string) bool {
	fd, err := rootfs.OpenAt(dir, name, unix.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	head := make([]byte, 16)
	n, err := unix.Read(fd, head)
	return err == nil && string(head[:n]) == "SQLite format 3\x00"
}
