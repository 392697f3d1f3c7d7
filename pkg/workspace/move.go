package workspace

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/work/ledger"
)

// maxMove bounds the files of a directory that is renamed as one.
const maxMove = 5000

// Remove deletes a file, a link that stays inside (the link, not its target) or
// an empty directory.
func (f *Files) Remove(name string) error {
	if _, err := f.find(name, true, true); err != nil {
		return err // also for a link whose target is refused
	}
	return f.Change(name, false, func(p string) error {
		now, err := f.Keep(p)
		if err != nil {
			return err
		}
		switch now.Type {
		case "":
			return f.Tree.Explain(name, fs.ErrNotExist)
		case rootfs.TypeFile:
			if err := f.checkUnchanged(name, p, now); err != nil {
				return err
			}
		case rootfs.TypeDir:
			if full, err := f.Full(p); err != nil || full {
				return errors.Join(err, &rootfs.PathError{Name: name, Reason: "is a directory that is not empty; remove what is in it first"})
			}
		}
		return f.commit("", []ledger.PathChange{{Path: rootfs.RawName(p), Before: now}}, func() error {
			if err := f.Tree.Root.Remove(p); err != nil {
				return f.Tree.Explain(name, err)
			}
			return f.Tree.Sync(path.Dir(p))
		})
	})
}

func (f *Files) Full(p string) (bool, error) {
	d, err := f.Tree.Root.Open(p)
	if err != nil {
		return false, f.Tree.Explain(p, err)
	}
	defer d.Close()
	names, _ := d.Readdirnames(1)
	return len(names) > 0, nil
}

// Rename gives a file, a link or a directory a new name. What has the new name
// already is not replaced. The content moves along untouched, so a file that
// changed since it was read may be renamed; the stale check moves along too.
func (f *Files) Rename(from, to string) error {
	if _, err := f.find(from, true, true); err != nil {
		return err
	}
	if _, err := f.find(to, true, true); err != nil {
		return err
	}
	return f.Change(from, false, func(src string) error {
		dst, err := f.find(to, false, true)
		if err != nil {
			return err
		}
		if strings.HasPrefix(dst+"/", src+"/") {
			return &rootfs.PathError{Name: to, Reason: "lies at or below the name that is to be renamed"}
		}
		if now, err := f.Tree.State(dst, nil); err != nil || now.Type != "" {
			return errors.Join(err, &rootfs.PathError{Name: to, Reason: "exists already; remove it first, or choose another name"})
		}
		ds, err := f.moves(from, src, dst)
		if err != nil {
			return err
		}
		dirs, err := f.Tree.MissingDirs(dst)
		if err != nil {
			return err
		}
		return f.commit("", append(made(dirs), ds...), func() error {
			if err := f.makeDirs(dirs); err != nil {
				return err
			}
			if err := f.Tree.Rename(src, dst); err != nil {
				return f.Tree.Explain(from, err)
			}
			return nil
		})
	})
}

// moves lists the deltas of renaming src, and of all below it, to dst.
func (f *Files) moves(name, src, dst string) ([]ledger.PathChange, error) {
	var ds []ledger.PathChange
	add := func(p string) error {
		if err := f.CheckPath(p, p, true); err != nil {
			return err
		}
		if len(ds) >= 2*maxMove {
			return &rootfs.PathError{Name: name, Reason: fmt.Sprintf("holds more than %d files, too many to rename as one", maxMove)}
		}
		now, err := f.Keep(p)
		if err != nil {
			return err
		}
		to := dst + strings.TrimPrefix(p, src)
		if now.Type == "" {
			return f.Tree.Explain(p, fs.ErrNotExist)
		}
		ds = append(ds, ledger.PathChange{Path: rootfs.RawName(to), From: rootfs.RawName(p), After: now}, ledger.PathChange{Path: rootfs.RawName(p), Before: now})
		return nil
	}
	info, err := f.Tree.Root.Lstat(src)
	if err != nil {
		return nil, f.Tree.Explain(name, err)
	}
	if !info.IsDir() {
		err := add(src)
		return ds, err
	}
	err = rootfs.WalkDir(f.Tree.Root, src, func(p string, d *rootfs.Entry, err error) error {
		if err != nil {
			return f.Tree.Explain(p, err)
		}
		return add(p)
	})
	return ds, err
}

// Apply makes a move under f's step. It does nothing if the path is like that
// already. A path that is otherwise than it must be is a *PathError.
func (f *Files) Apply(m rootfs.Transition, at func(string)) error {
	p := string(m.Path)
	refuse := func(reason string) error { return &rootfs.PathError{Name: p, Reason: reason} }
	f.mu.Lock()
	defer f.mu.Unlock()
	defer f.Tree.Lock()()
	if err := f.Tree.CheckNoLinks(p); err != nil {
		return refuse("a directory above it has become a symbolic link")
	}
	if err := f.CheckPath(p, p, true); err != nil && !m.Dir {
		return err
	}
	now, err := f.Keep(p)
	if err != nil {
		return err
	}
	switch {
	case now.Equal(m.After):
		return nil
	case m.After.Type == "" && now.Type == rootfs.TypeDir && !m.Dir:
		return nil // the file went, and what comes next made this: we were here before
	case m.Dir && now.Type == rootfs.TypeDir:
		m.Before = now
	case !now.Equal(m.Before):
		return refuse("it was changed here at the same time")
	}
	var dirs []string
	var data []byte
	if m.After.Type != "" {
		if dirs, err = f.Tree.MissingDirs(p); err != nil {
			return err
		}
		if data, err = f.Ledger.Load(m.After.Digest); err != nil {
			return &ledger.WriteError{Err: fmt.Errorf("%s: %w", p, err)}
		}
	}
	if m.Dir {
		if full, err := f.Full(p); err != nil || full {
			return refuse("it is not empty")
		}
	}
	temp := rootfs.TempName(p)
	ds := append(made(dirs), ledger.PathChange{Path: m.Path, Before: now, After: m.After})
	at("before " + p)
	if err := f.Ledger.Change(temp, ds...); err != nil {
		return &ledger.WriteError{Err: err}
	}
	at("change " + p)
	if err = f.makeDirs(dirs); err == nil {
		at("dirs " + p)
		err = f.applyState(p, temp, m.After, data)
	}
	if err != nil {
		f.Ledger.TakeBack(ds...)
		return f.Tree.Explain(p, err)
	}
	at("after " + p)
	return nil
}

// applyState puts the recorded state of a path back.
func (f *Files) applyState(p, temp string, to rootfs.State, data []byte) error {
	t := f.Tree
	switch to.Type {
	case "":
		return errors.Join(t.Root.Remove(p), t.Sync(path.Dir(p)))
	case rootfs.TypeLink:
		err := t.Root.Symlink(string(data), temp)
		if err == nil {
			err = t.Rename(temp, p)
		}
		if err != nil {
			_ = t.Root.Remove(temp) // gone already if it has its name
		}
		return err
	}
	return t.Put(p, temp, to.Mode, bytes.NewReader(data))
}
