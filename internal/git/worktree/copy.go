package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/git"
	"github.com/adroit-run/adroit/internal/system/rootfs"
)

// A Copy is a second work tree with everything that the first one contained when it was made,
// uncommitted changes included, so that somebody can work in it at the same time. Join brings its
// changes back.
//
// In a git repository it is a work tree of its own on a branch of its own, which begins with a
// commit of the state copied; elsewhere, and before the first commit, it is a plain copy. The
// repository's own work tree, index, HEAD and stash stay as they are. Files that git ignores,
// untracked files with names of secrets and special files are not copied: NotCopied names them.
// Submodules and other repositories inside are directories like any other there.
//
// It is data, kept in Home with what Join needs to know. Whoever works in the copy controls all
// that is in it: the paths recorded here are trusted, nothing else. Use it from one goroutine.
type Copy struct {
	Tree      Worktree     `json:"tree"` // of a plain copy, Top and Sub alone
	From      string       `json:"from"` // the top of what was copied
	Plain     bool         `json:"plain,omitempty"`
	Files     int          `json:"files"`
	NotCopied []string     `json:"not_copied,omitempty"` // the first of them, from the top of the work tree
	Omitted   int          `json:"omitted,omitempty"`    // how many there are
	Made      time.Time    `json:"made,omitzero"`        // zero while it is being made
	Result    *MergeResult `json:"joined,omitempty"`     // of Join, when that is done
	Strayed   bool         `json:"strayed,omitempty"`    // another branch was checked out in it
	Removed   bool         `json:"removed,omitempty"`

	home      string
	testPoint func(string) // tests die here
}

const (
	// maxPlain and maxPlainBytes bound a copy of files outside of any repository.
	maxPlain      = 20_000
	maxPlainBytes = 512 << 20
	mostOmitted   = 20 // names
)

// CopyOptions name the source and the destination of a copy.
type CopyOptions struct {
	Dir string // what is worked in, in the first work tree
	// From is the record of that work tree if somebody else controls it, so that no file in it is
	// used to find its repository. Plain means that it has none.
	From   *Worktree
	Plain  bool
	Top    string // of the copy; must not exist
	Branch string
	Home   string           // for the record; made if it is not there
	Names  *rootfs.DenyList // the operator's
	Except string           // a directory that is no part of the work, wherever it is

	testPoint func(string)
}

// Dir returns the directory to work in.
func (c *Copy) Dir() string { return c.Tree.Dir() }

// Writes returns the directories of the repository that have to be writable to commit in the copy;
// Shows returns the one that has to be readable.
func (c *Copy) Writes() ([]string, error) {
	if c.Plain {
		return nil, nil
	}
	return c.Tree.Writes()
}

// Shows returns the repository, or "".
func (c *Copy) Shows() string { return c.Tree.Common }

// Check returns an error if the copy is not where it was.
func (c *Copy) Check() error {
	if !c.Plain {
		return c.Tree.Check()
	}
	if _, err := os.Stat(c.Dir()); err != nil {
		return &Error{Reason: fmt.Sprintf("the copy of the work tree in %s is gone; run the task again", c.Dir())}
	}
	return nil
}

// AddCopy makes a copy. It is idempotent by Home: it returns an existing copy, and first removes
// the remains of an interrupted attempt.
func AddCopy(ctx context.Context, o CopyOptions) (*Copy, error) {
	if err := os.MkdirAll(o.Home, 0o700); err != nil {
		return nil, err
	}
	lock, unlock, err := lockDir(ctx, o.Home)
	if err != nil {
		return nil, err
	}
	defer unlock()
	c, err := OpenCopy(o.Home)
	if err != nil {
		return nil, err
	}
	if top, err := filepath.Abs(o.Top); err == nil && c != nil {
		c.Tree.Top = top // the data directory may have been moved
	}
	if c != nil && !c.Made.IsZero() {
		return c, c.Check()
	}
	if c != nil {
		c.Tree.held = lock
		if err := c.clear(ctx); err != nil {
			return nil, fmt.Errorf("taking away what is left of an earlier attempt: %w", err)
		}
	}
	top, err := filepath.Abs(o.Top)
	if err != nil {
		return nil, err
	}
	src, err := o.source(ctx)
	if err != nil {
		return nil, err
	}
	c = &Copy{Tree: Worktree{Top: top, Sub: src.sub, held: lock}, From: src.dir, Plain: src.git == nil, home: o.Home, testPoint: o.testPoint}
	if !c.Plain {
		if err := git.CheckRef("branch", o.Branch); err != nil {
			return nil, err
		}
		c.Tree.Repo, c.Tree.Branch, c.Tree.Base = src.repo, o.Branch, src.head
	}
	if _, err := os.Lstat(top); err == nil {
		return nil, fmt.Errorf("%s is there already", top)
	}
	if err := os.MkdirAll(filepath.Dir(top), 0o700); err != nil {
		return nil, err
	}
	if err := c.save(); err != nil {
		return nil, err
	}
	if real, err := filepath.EvalSymlinks(o.Except); err == nil && o.Except != "" {
		src.except = real
	}
	if err := c.make(ctx, src, o.Names); err != nil {
		return nil, errors.Join(err, c.clear(context.WithoutCancel(ctx)), os.Remove(c.file("tree.json")))
	}
	c.Tree.held = nil
	return c, nil
}

// lock excludes others from the copy until unlock is called, and waits for the gits
// that a killed process has left at work on it.
func (c *Copy) lock(ctx context.Context) (unlock func(), err error) {
	lock, free, err := lockDir(ctx, c.home)
	if err != nil {
		return nil, err
	}
	c.Tree.held = lock
	return func() { c.Tree.held = nil; free() }, nil
}

// make carries out AddCopy's record.
func (c *Copy) make(ctx context.Context, src *source, names *rootfs.DenyList) error {
	c.at("make")
	if c.Plain {
		info, err := os.Stat(src.dir)
		if err != nil {
			return err
		}
		if err := errors.Join(os.Mkdir(c.Tree.Top, 0o700), os.Chmod(c.Tree.Top, info.Mode().Perm()|0o700)); err != nil {
			return err
		}
	} else {
		if err := c.Tree.add(ctx, src.git, "--no-checkout"); err != nil {
			return err
		}
		c.at("made")
		if err := c.Tree.locate(); err != nil {
			return err
		}
		if err := c.save(); err != nil {
			return err
		}
	}
	b, err := c.copyFiles(ctx, src, names)
	if err != nil {
		return err
	}
	c.at("filled")
	if !c.Plain {
		if err := c.begin(ctx, names, b.Inner); err != nil {
			return err
		}
	}
	// A file that a power cut emptied would look like a change made here.
	sync := rootfs.SyncFS
	if !c.Plain {
		sync = c.Tree.sync // the repository may lie elsewhere
	}
	if err := sync(c.Tree.Top); err != nil {
		return err
	}
	if err := rootfs.WriteJSON(c.file("base.json"), b); err != nil {
		return err
	}
	c.at("base")
	c.Made = time.Now()
	return c.save()
}

// OpenCopy finds the copy whose record is in home, nil if there is none.
func OpenCopy(home string) (*Copy, error) {
	c := &Copy{home: home}
	if err := rootfs.ReadJSON(c.file("tree.json"), c); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("reading the record of a worktree: %w", err)
	}
	return c, nil
}

func (c *Copy) file(name string) string { return filepath.Join(c.home, name) }

func (c *Copy) save() error { return rootfs.WriteJSON(c.file("tree.json"), c) }

func (c *Copy) at(point string) {
	if c.testPoint != nil {
		c.testPoint(point)
	}
}

// Remove removes the copy with its branch and all its content. It is not an error if the copy is
// gone.
func (c *Copy) Remove(ctx context.Context) error {
	unlock, err := c.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	return c.remove(ctx)
}

func (c *Copy) remove(ctx context.Context) error {
	if c.Removed {
		return nil
	}
	if err := c.clear(ctx); err != nil {
		return err
	}
	c.at("cleared")
	c.Removed = true
	if err := c.save(); err != nil {
		return err
	}
	for _, name := range []string{"base.json", "join.json"} {
		if err := os.Remove(c.file(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// clear removes what exists, even of an unfinished copy.
func (c *Copy) clear(ctx context.Context) error {
	w := &c.Tree
	if branch, ok := w.checkedOut(); ok && branch != w.Branch && !c.Strayed {
		c.Strayed = true // noted while it can still be seen
		if err := c.save(); err != nil {
			return err
		}
	}
	if err := rootfs.RemoveAll(w.Top); err != nil {
		return err
	}
	if c.Plain {
		return nil
	}
	for _, dir := range []string{w.Repo, w.Common} {
		if _, err := os.Stat(dir); dir != "" && errors.Is(err, fs.ErrNotExist) {
			return nil // the repository went before
		}
	}
	c.at("discarded")
	// The commits of a strayed copy exist only on its branch, and other content was brought back.
	return w.forget(ctx, !c.Strayed)
}

// checkedOut returns the branch that the work tree is on, "" for none. It is unknown for a work
// tree that the repository has forgotten, or half forgotten.
func (w *Worktree) checkedOut() (branch string, ok bool) {
	b, err := os.ReadFile(filepath.Join(w.Admin, "HEAD"))
	branch, _ = strings.CutPrefix(strings.TrimSpace(string(b)), "ref: refs/heads/")
	return branch, w.Admin != "" && err == nil
}

// Connect returns an error, with Other, if the work tree is a copy, together with its data
// directory, and the repository has the original: the commits, index and branch there are not the
// copy's. If the original and its data directory are gone, the repository is given the place of
// this one, as git worktree repair does.
func (w *Worktree) Connect() error {
	was := w.recordedTop()
	if was == "" {
		return nil
	}
	if isData(was) {
		return &Error{Reason: fmt.Sprintf("the repository %s has %s as the job's worktree, and not %s, which is of a copy of the data directory", w.Repo, was, w.Top), Other: was,
			Remedy: fmt.Sprintf("--data-dir %s works with that one; git -C %s worktree repair %s connects this one in place of it", filepath.Dir(filepath.Dir(was)), w.Repo, w.Top)}
	}
	if err := rootfs.WriteFile(filepath.Join(w.Admin, "gitdir"), []byte(filepath.Join(w.Top, ".git")+"\n")); err != nil {
		return fmt.Errorf("connecting %s with its repository: %w", w.Top, err)
	}
	return nil
}

// isData reports whether a work tree is there, or the data directory that it was in.
func isData(top string) bool {
	for _, name := range []string{filepath.Join(top, ".git"), filepath.Join(filepath.Dir(filepath.Dir(top)), "adroit.db")} {
		if _, err := os.Lstat(name); err == nil {
			return true
		}
	}
	return false
}

// recordedTop returns the work tree that the repository has recorded in place of this one: the one
// of the same name in another data directory. It is empty if the repository records this one, or
// none. Whoever worked here may have written something else into that record; such entries are
// ignored.
func (w *Worktree) recordedTop() string {
	if w.Admin == "" || filepath.Dir(w.Admin) != filepath.Join(w.Common, "worktrees") {
		return ""
	}
	b, err := os.ReadFile(filepath.Join(w.Admin, "gitdir"))
	if err != nil {
		return ""
	}
	file := strings.TrimSuffix(string(b), "\n")
	if !filepath.IsAbs(file) {
		file = filepath.Join(w.Admin, file)
	}
	top := filepath.Dir(file)
	if filepath.Base(file) != ".git" || filepath.Base(top) != filepath.Base(w.Top) || filepath.Base(filepath.Dir(top)) != "worktrees" || top == w.Top {
		return ""
	}
	a, err := os.Stat(top)
	if b, here := os.Stat(w.Top); err == nil && here == nil && os.SameFile(a, b) { // by a link
		return ""
	}
	if here, err := filepath.EvalSymlinks(filepath.Dir(w.Top)); err == nil && filepath.Join(here, filepath.Base(w.Top)) == top { // and removed
		return ""
	}
	return top
}
