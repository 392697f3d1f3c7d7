package worktree

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/adroit-run/adroit/internal/system/rootfs"
)

// Connect is an error, with Other, if the work tree is a copy, with the data directory that it
// is in, and the repository has the original: that one's commits, index and branch are not
// the copy's. If the original and its data directory are gone, the repository is
// given the place of this one, as git worktree repair does.
func (w *Worktree) Connect() error {
	was := w.other()
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

// other is the work tree that the repository has in place of this one: that of the same
// name in another data directory. It is empty if it has this one, or none. Whoever worked
// here may have written something else there, which counts for nothing.
func (w *Worktree) other() string {
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
