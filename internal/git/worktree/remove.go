package worktree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/adroit-run/adroit/internal/git"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/work/process"
)

// merged reports whether everything on the branch is in the branch that the first
// work tree has checked out, and nothing is left to commit, of a work tree whose
// state is s.
func (w *Worktree) merged(ctx context.Context, s *git.Status) (bool, error) {
	if len(s.Entries) > 0 || s.Branch != w.Branch {
		return false, nil
	}
	head, err := git.OnHost(w.Repo).ResolveCommit(ctx, "HEAD")
	if err != nil {
		return false, err
	}
	return git.OnHost(w.Repo).IsAncestor(ctx, head, s.Commit)
}

// Removable returns an error if the work tree has uncommitted changes. merged reports whether its
// branch may be removed too: everything on it is in the branch that the first work tree has
// checked out. written are the paths below Dir that the job wrote. It changes nothing.
func (w *Worktree) Removable(ctx context.Context, written []string) (merged bool, err error) {
	if _, err := os.Lstat(w.Top); w.gone() {
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		// The disk may be missing, or the repository moved: its content is unknown.
		return false, &Error{Reason: fmt.Sprintf("its repository %s is not there any more, so what is in %s may be the only copy of its work", w.Repo, w.Top), Paths: written,
			Remedy: fmt.Sprintf("bring the repository back, or copy what you need from %s", w.Top)}
	}
	if _, err := os.Stat(w.Top); errors.Is(err, fs.ErrNotExist) {
		// Somebody else removed it; only the branch is left.
		tip, err := git.OnHost(w.Repo).ResolveCommit(ctx, "refs/heads/"+w.Branch)
		if err != nil {
			return false, nil
		}
		return w.merged(ctx, &git.Status{Branch: w.Branch, Commit: tip})
	}
	if err := w.Check(); err != nil {
		return false, err
	}
	if err := w.distrustIndex(ctx); err != nil {
		return false, err
	}
	s, err := w.Inside().Status(ctx)
	if err != nil {
		return false, err
	}
	left, err := w.unmergedPaths(ctx, written)
	if err != nil {
		return false, err
	}
	detached := w.checkDetached(ctx, s)
	if len(s.Entries) > 0 {
		var paths []string
		named := map[string]bool{}
		for _, e := range s.Entries {
			paths = append(paths, e.Path)
			named[strings.TrimSuffix(e.Path, "/")] = true
		}
		for _, p := range left {
			above := p
			for !named[above] && len(above) > 1 {
				above = path.Dir(above)
			}
			if !named[above] {
				paths = append(paths, p)
			}
		}
		return false, &Error{Reason: "changes in the worktree are not committed", Paths: paths, Err: detached}
	}
	if err := cmp.Or(w.checkHidden(ctx), detached); err != nil {
		return false, err
	}
	if len(left) > 0 {
		return false, &Error{Reason: "files of the worktree are in no commit: they are in a submodule, or git ignores them", Paths: left,
			Remedy: fmt.Sprintf("copy what you need from %s", w.Top)}
	}
	return w.merged(ctx, s)
}

// Stays reports whether the branch of the work tree is in the repository.
func (w *Worktree) Stays(ctx context.Context) bool {
	_, err := git.OnHost(w.Repo).ResolveCommit(ctx, "refs/heads/"+w.Branch)
	return err == nil
}

// checkDetached returns an error if the work tree is at a commit that is on no branch of the
// repository: git would forget it.
func (w *Worktree) checkDetached(ctx context.Context, s *git.Status) error {
	if s.Branch == w.Branch {
		return nil // it stays, unless it is merged
	}
	on, err := git.OnHost(w.Repo).RunPlumbing(ctx, nil, process.Cmd{Args: []string{"for-each-ref", "--count=1", "--contains=" + s.Commit, "refs/heads/"}})
	if err != nil || len(on) > 0 {
		return err
	}
	return &Error{Reason: fmt.Sprintf("commit %.10s of the worktree is on no branch", s.Commit),
		Remedy: fmt.Sprintf("git -C %s branch NAME %.10s keeps it", w.Repo, s.Commit)}
}

// gone reports whether the repository itself is not there any more.
func (w *Worktree) gone() bool {
	_, err := os.Stat(w.Common)
	return w.Common != "" && errors.Is(err, fs.ErrNotExist)
}

// Discard removes the work tree with everything in it, and its branch if asked. Parts that are
// already gone are not an error, so that an interrupted removal can be finished.
func (w *Worktree) Discard(ctx context.Context, branch bool) error {
	// What git ignores is in the tree too, and a forced removal by git would
	// ask the .git file where to work.
	if err := rootfs.RemoveAll(w.Top); err != nil || w.Repo == "" || w.gone() {
		return err
	}
	return w.forget(ctx, branch)
}

// Remove discards a work tree that is Removable, with its branch if that is merged. If forced, it
// discards everything.
func (w *Worktree) Remove(ctx context.Context, force bool) error {
	branch := force
	if !force {
		var err error
		if branch, err = w.Removable(ctx, nil); err != nil {
			return err
		}
	}
	return w.Discard(ctx, branch)
}

// Find returns the work tree at top whose record cannot be read, or nil if nothing is there. Repo
// is empty if its repository is unknown: whoever worked there may have changed what the work tree
// says about it, so the repository must confirm it.
func Find(top, branch string) (*Worktree, error) {
	if _, err := os.Lstat(top); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	w := &Worktree{Top: top, Branch: branch}
	if info, err := os.Lstat(filepath.Join(top, ".git")); err != nil || !info.Mode().IsRegular() || w.locate() != nil {
		return &Worktree{Top: top, Branch: branch}, nil
	}
	back, err := os.ReadFile(filepath.Join(w.Admin, "gitdir"))
	if list := filepath.Dir(w.Admin); err == nil && strings.TrimSpace(string(back)) == filepath.Join(top, ".git") && filepath.Base(list) == "worktrees" && filepath.Base(filepath.Dir(list)) == ".git" {
		w.Common = filepath.Dir(list)
		w.Repo = filepath.Dir(w.Common)
		return w, nil
	}
	return &Worktree{Top: top, Branch: branch}, nil
}

// forget removes the work tree from the repository's records, and deletes its branch if asked. It
// is not an error if they are already gone.
func (w *Worktree) forget(ctx context.Context, branch bool) error {
	common, g, unlock, err := lockRepo(ctx, git.OnHost(w.Repo).Holding(w.held))
	if err != nil {
		return err
	}
	defer unlock()
	if w.Common == "" {
		w.Common = common
	}
	if was := w.recordedTop(); was != "" && isData(was) {
		return nil // the branch is that of the original, too
	}
	w.release()
	if err := w.unlist(common); err != nil || !branch {
		return err
	}
	// The job may have made its branch a symbolic ref to another branch, which stays. It is not an
	// error if the branch is gone.
	_, err = g.RunPlumbing(ctx, nil, process.Cmd{Args: []string{"update-ref", "--no-deref", "-d", "refs/heads/" + w.Branch}})
	if err != nil && !w.Stays(ctx) {
		return nil // there was none, and another branch has its name for a directory
	}
	return err
}

// unlist makes the repository forget the work tree, and no other: git worktree
// prune would forget those on a disk that is not plugged in.
func (w *Worktree) unlist(common string) error {
	if w.Admin == "" { // made, but not noted
		all, _ := filepath.Glob(filepath.Join(common, "worktrees", "*", "gitdir"))
		for _, f := range all {
			if b, err := os.ReadFile(f); err == nil && strings.TrimSpace(string(b)) == filepath.Join(w.Top, ".git") {
				w.Common, w.Admin = common, filepath.Dir(f)
			}
		}
		if w.Admin == "" {
			return nil
		}
	}
	if filepath.Dir(w.Admin) != filepath.Join(w.Common, "worktrees") {
		return fmt.Errorf("%s is not where a repository keeps what it knows of a worktree", w.Admin)
	}
	if err := rootfs.RemoveAll(w.Admin); err != nil {
		return err
	}
	_ = os.Remove(filepath.Dir(w.Admin)) // if it was the last
	return nil
}
