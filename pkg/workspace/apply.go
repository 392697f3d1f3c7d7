package workspace

import (
	"bytes"
	"errors"
	"fmt"
	"path"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/work/ledger"
)

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
		err = f.become(p, temp, m.After, data)
	}
	if err != nil {
		f.Ledger.TakeBack(ds...)
		return f.Tree.Explain(p, err)
	}
	at("after " + p)
	return nil
}

// become makes a path what a state says.
func (f *Files) become(p, temp string, to rootfs.State, data []byte) error {
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
