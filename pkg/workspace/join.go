package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
)

// A Joined says what Join brought back.
type Joined struct {
	Paths     []string  `json:"paths,omitempty"`     // that have changed, relative to the workspace
	Conflicts []Skipped `json:"conflicts,omitempty"` // paths that are as they were, and why
	Kept      string    `json:"kept,omitempty"`      // the copy, if there are conflicts
	Branch    string    `json:"branch,omitempty"`    // and the branch that has what is in it
}

// Join brings what was changed in the copy, committed there or not, to the
// files it was copied from, as the step that f is at: it is in the ledger, and
// in no commit. A path that nobody else has changed is taken over. Where both
// changed a text, the changes are merged if that is clean. Everything else is a
// conflict: our version stays, and theirs stays in the copy. Without conflicts
// the copy is removed.
//
// Nobody may work in the copy any more. Join is idempotent: what is to be done
// is noted before the first file changes, and one that was cut short, by
// whatever, goes on there. What text is merged with comes from the ledgers, of
// f and of olds, or from the repository, by its digest.
func (c *Copy) Join(ctx context.Context, f *Files, olds ...*Ledger) (*Joined, error) {
	if f.led == nil {
		return nil, errors.New("what a worktree brings back needs a ledger")
	}
	if c.Result == nil {
		if err := c.Check(); err != nil {
			return nil, err
		}
		p, err := c.plan(ctx, f, olds)
		if err != nil {
			return nil, err
		}
		if c.Result, err = c.bring(ctx, f, p); err != nil {
			return nil, err
		}
		if len(c.Result.Conflicts) > 0 {
			c.keepResult(ctx, f.names)
		}
		c.at("brought")
		if err := c.save(); err != nil {
			return nil, err
		}
		c.at("noted")
	}
	if len(c.Result.Conflicts) > 0 {
		return c.Result, nil
	}
	// What is left over of the copy makes nothing undone: Remove tries again.
	_ = c.Remove(context.WithoutCancel(ctx))
	return c.Result, nil
}

// keepResult says where the other version is, and commits it there as well.
func (c *Copy) keepResult(ctx context.Context, names *Names) {
	c.Result.Kept = c.Dir()
	if c.Plain {
		return
	}
	w := &c.Tree
	tip, err := at(w.Repo).commit(ctx, "refs/heads/"+w.Branch)
	if branch, ok := w.checkedOut(); err == nil && ok && branch == w.Branch {
		_, err = w.snap(ctx, names, tip, "Changes that were not all brought back")
	}
	if err == nil {
		c.Result.Branch = w.Branch // else the directory alone has it
	}
}

// bring does what is planned.
func (c *Copy) bring(ctx context.Context, f *Files, p *joinPlan) (*Joined, error) {
	j := &Joined{Conflicts: slices.Clone(p.Conflicts)}
	for _, m := range p.Moves {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		err := f.adopt(m, c.at)
		var broken *ledgerError
		switch {
		case errors.As(err, &broken):
			return nil, broken.err
		case err != nil:
			var why *PathError
			reason := err.Error()
			if errors.As(err, &why) {
				reason = why.Reason
			}
			if m.Dir {
				continue // somebody put something in it
			}
			j.Conflicts = append(j.Conflicts, Skipped{Path: string(m.Path), Reason: reason})
		case !m.Dir:
			j.Paths = append(j.Paths, string(m.Path))
		}
	}
	slices.Sort(j.Paths)
	slices.SortFunc(j.Conflicts, func(a, b Skipped) int { return cmpPath(a.Path, b.Path) })
	return j, nil
}

// A move is what is to be done to one path here: what it must be like, and what
// it is like then. The content is in the ledger.
type move struct {
	Path   rawName `json:"path"`
	Before state   `json:"before,omitzero"`
	After  state   `json:"after,omitzero"`
	Dir    bool    `json:"dir,omitempty"` // one that has become empty
}

// adopt makes a move under f's step. It does nothing if the path is like that
// already. A path that is otherwise than it must be is a *PathError.
func (f *Files) adopt(m move, at func(string)) error {
	p := string(m.Path)
	refuse := func(reason string) error { return &PathError{Name: p, Reason: reason} }
	f.mu.Lock()
	defer f.mu.Unlock()
	defer f.tree.lock()()
	if err := f.tree.plain(p); err != nil {
		return refuse("a directory above it has become a symbolic link")
	}
	if err := f.judge(p, p, true); err != nil && !m.Dir {
		return err
	}
	now, err := f.keep(p)
	if err != nil {
		return err
	}
	switch {
	case now.same(m.After):
		return nil
	case m.After.Type == "" && now.Type == isDir && !m.Dir:
		return nil // the file went, and what comes next made this: we were here before
	case m.Dir && now.Type == isDir:
		m.Before = now
	case !now.same(m.Before):
		return refuse("it was changed here at the same time")
	}
	var dirs []string
	var data []byte
	if m.After.Type != "" {
		if dirs, err = f.tree.missing(p); err != nil {
			return err
		}
		if data, err = f.led.load(m.After.Digest); err != nil {
			return &ledgerError{fmt.Errorf("%s: %w", p, err)}
		}
	}
	if m.Dir {
		if full, err := f.full(p); err != nil || full {
			return refuse("it is not empty")
		}
	}
	temp := tempName(p)
	ds := append(made(dirs), delta{Path: m.Path, Before: now, After: m.After})
	at("before " + p)
	if err := f.led.change(temp, ds...); err != nil {
		return &ledgerError{err}
	}
	at("change " + p)
	if err = f.makeDirs(dirs); err == nil {
		at("dirs " + p)
		err = f.become(p, temp, m.After, data)
	}
	if err != nil {
		f.led.took(ds...)
		return f.tree.explain(p, err)
	}
	at("after " + p)
	return nil
}

// become makes a path what a state says.
func (f *Files) become(p, temp string, to state, data []byte) error {
	t := f.tree
	switch to.Type {
	case "":
		return errors.Join(t.root.Remove(p), t.sync(path.Dir(p)))
	case isLink:
		err := t.root.Symlink(string(data), temp)
		if err == nil {
			err = t.root.Rename(temp, p)
		}
		if err != nil {
			_ = t.root.Remove(temp)
			return err
		}
		return t.sync(path.Dir(p))
	}
	return t.put(p, temp, to.Mode, bytes.NewReader(data))
}

// before finds what a path was like when it was copied, for merging: where
// somebody kept it, or in the commit that the copy began with.
func (c *Copy) before(ctx context.Context, p string, s state, leds []*Ledger) ([]byte, error) {
	for _, l := range leds {
		if b, err := l.load(s.Digest); err == nil {
			return b, nil
		}
	}
	if c.Plain {
		return nil, fs.ErrNotExist
	}
	b, err := at(c.Tree.Repo).raw(ctx, nil, Cmd{Args: []string{"cat-file", "blob", c.Tree.Base + ":" + p}})
	if err != nil {
		return nil, err
	}
	if digest(b) != s.Digest {
		return nil, fmt.Errorf("git has it otherwise than it was on disk")
	}
	return b, nil
}

// planned is what an earlier Join was about to do, nil if there was none.
func (c *Copy) planned() (*joinPlan, error) {
	p := new(joinPlan)
	err := readJSON(c.file("join.json"), p)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return p, err
}
