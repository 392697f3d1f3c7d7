package worktree

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/adroit-run/adroit/internal/system/rootfs"
)

// Writes are the directories of the repository that a job must be able to
// change in order to commit here, and no more: not the settings, the hooks nor
// branches of people and of other jobs. All branches in the directory of this
// one can be changed, so each work tree should have a directory of its own.
// Jobs of older versions have one for all of them, refs/heads/adroit: a command
// of such a job can change the branches of all jobs.
func (w *Worktree) Writes() ([]string, error) {
	if err := w.Check(); err != nil {
		return nil, err
	}
	refs, err := w.refDirs()
	if err != nil {
		return nil, err
	}
	repo, err := os.OpenRoot(w.Common)
	if err != nil {
		return nil, err
	}
	defer repo.Close()
	for _, d := range refs {
		if err := repo.MkdirAll(path.Join(d, rootfs.GitInUse), 0o755); err != nil {
			return nil, err
		}
	}
	dirs := []string{w.Admin}
	for _, d := range append(refs, "objects") {
		if err := w.checkDir(d); err != nil { // after all that could have been made elsewhere
			return nil, err
		}
		dirs = append(dirs, filepath.Join(w.Common, filepath.FromSlash(d)))
	}
	return dirs, nil
}

// refDirs are the directories of the branch and of its log, in the repository.
// They may not be there.
func (w *Worktree) refDirs() ([]string, error) {
	var dirs []string
	for _, top := range []string{"refs/heads", "logs/refs/heads"} {
		d := path.Join(top, path.Dir(w.Branch))
		if err := w.checkDir(d); err != nil {
			return nil, err
		}
		dirs = append(dirs, d)
	}
	return dirs, nil
}

// checkDir is an error if a directory of the repository is, or is behind, a link.
// A job that works in the repository itself can make one that leads to anywhere,
// and git and the sandbox would follow it.
func (w *Worktree) checkDir(dir string) error {
	for at := dir; at != "."; at = path.Dir(at) {
		p := filepath.Join(w.Common, filepath.FromSlash(at))
		info, err := os.Lstat(p)
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ENOTDIR): // see what is around it
		case err != nil:
			return err
		case !info.IsDir():
			return &Error{Reason: fmt.Sprintf("%s is no directory", p), Remedy: "commits of a worktree are written there: put a directory in its place"}
		}
	}
	return nil
}

// release is for when nobody works on the branch any more. What a job put in the
// place of what is removed here may stay: git does not read it.
func (w *Worktree) release() {
	refs, err := w.refDirs()
	if err != nil {
		return // nothing there is ours
	}
	for _, d := range refs {
		_ = os.Remove(filepath.Join(w.Common, filepath.FromSlash(d), rootfs.GitInUse))
	}
}
