package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// maxMove bounds the files of a directory that is renamed as one.
const maxMove = 5000

// Remove deletes a file, a link that stays inside (the link, not its target) or
// an empty directory.
func (f *Files) Remove(name string) error {
	if _, err := f.find(name, true, true); err != nil {
		return err // also for a link whose target is refused
	}
	return f.change(name, false, func(p string) error {
		now, err := f.keep(p)
		if err != nil {
			return err
		}
		switch now.Type {
		case "":
			return f.tree.explain(name, fs.ErrNotExist)
		case isFile:
			if err := f.fresh(name, p, now); err != nil {
				return err
			}
		case isDir:
			if full, err := f.full(p); err != nil || full {
				return errors.Join(err, &PathError{Name: name, Reason: "is a directory that is not empty; remove what is in it first"})
			}
		}
		return f.commit("", []delta{{Path: rawName(p), Before: now}}, func() error {
			if err := f.tree.root.Remove(p); err != nil {
				return f.tree.explain(name, err)
			}
			return f.tree.sync(path.Dir(p))
		})
	})
}

func (f *Files) full(p string) (bool, error) {
	d, err := f.tree.root.Open(p)
	if err != nil {
		return false, f.tree.explain(p, err)
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
	return f.change(from, false, func(src string) error {
		dst, err := f.find(to, false, true)
		if err != nil {
			return err
		}
		if strings.HasPrefix(dst+"/", src+"/") {
			return &PathError{Name: to, Reason: "lies at or below the name that is to be renamed"}
		}
		if now, err := f.tree.state(dst, nil); err != nil || now.Type != "" {
			return errors.Join(err, &PathError{Name: to, Reason: "exists already; remove it first, or choose another name"})
		}
		ds, err := f.moves(from, src, dst)
		if err != nil {
			return err
		}
		dirs, err := f.tree.missing(dst)
		if err != nil {
			return err
		}
		return f.commit("", append(made(dirs), ds...), func() error {
			if err := f.makeDirs(dirs); err != nil {
				return err
			}
			if err := f.tree.root.Rename(src, dst); err != nil {
				return f.tree.explain(from, err)
			}
			return errors.Join(f.tree.sync(path.Dir(src)), f.tree.sync(path.Dir(dst)))
		})
	})
}

// moves lists the deltas of renaming src, and of all below it, to dst.
func (f *Files) moves(name, src, dst string) ([]delta, error) {
	var ds []delta
	add := func(p string) error {
		if err := f.judge(p, p, true); err != nil {
			return err
		}
		if len(ds) >= 2*maxMove {
			return &PathError{Name: name, Reason: fmt.Sprintf("holds more than %d files, too many to rename as one", maxMove)}
		}
		now, err := f.keep(p)
		if err != nil {
			return err
		}
		to := dst + strings.TrimPrefix(p, src)
		if now.Type == "" {
			return f.tree.explain(p, fs.ErrNotExist)
		}
		ds = append(ds, delta{Path: rawName(to), From: rawName(p), After: now}, delta{Path: rawName(p), Before: now})
		return nil
	}
	info, err := f.tree.root.Lstat(src)
	if err != nil {
		return nil, f.tree.explain(name, err)
	}
	if !info.IsDir() {
		err := add(src)
		return ds, err
	}
	err = fs.WalkDir(f.tree.root.FS(), src, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return f.tree.explain(p, err)
		}
		return add(p)
	})
	return ds, err
}
