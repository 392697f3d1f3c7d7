package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/git"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/work/process"
	"golang.org/x/sys/unix"
)

// A gitlink is a submodule: a commit of another repository in a commit.
type gitlink struct{ path, commit string }

// submodules lists the submodules of a commit.
func submodules(ctx context.Context, g *git.Repo, commit string) (subs []gitlink, err error) {
	entries, err := g.ListNames(ctx, "ls-tree", "-r", "-z", "--full-tree", commit)
	for _, e := range entries { // mode type object TAB path
		meta, name, _ := strings.Cut(e, "\t")
		if f := strings.Fields(meta); len(f) == 3 && f[1] == "commit" {
			subs = append(subs, gitlink{name, f[2]})
		}
	}
	return subs, err
}

// fill makes the submodules of a new work tree from the clones of the repository,
// whose objects they share: each is a repository of its own, so that nothing in
// there changes those clones. What is not checked out in the repository stays empty.
func (w *Worktree) fill(ctx context.Context, from, to, commit string) error {
	subs, err := submodules(ctx, git.OnHost(to), commit)
	if err != nil {
		return err
	}
	for _, s := range subs {
		source, dest := filepath.Join(from, filepath.FromSlash(s.path)), filepath.Join(to, filepath.FromSlash(s.path))
		if _, err := os.Lstat(filepath.Join(source, ".git")); err != nil {
			continue
		}
		if _, err := os.Lstat(dest); errors.Is(err, fs.ErrNotExist) {
			continue // outside of a sparse checkout, as it would be for git
		}
		g := git.OnHost(source)
		out, err := g.RunPlumbing(ctx, nil, process.Cmd{Args: []string{"rev-parse", "--path-format=absolute", "--git-common-dir"}})
		if err != nil {
			return fmt.Errorf("finding the clone of submodule %s: %w", s.path, brief(err))
		}
		common := strings.TrimSuffix(string(out), "\n")
		if !rootfs.Within(w.Common, common) {
			return &Error{Reason: fmt.Sprintf("submodule %s has its git directory in itself, where commands of a worktree do not see it", s.path),
				Remedy: fmt.Sprintf("git -C %s submodule absorbgitdirs moves it into that of the repository, if .gitmodules names it; or run without a worktree", from)}
		}
		if _, err := g.ResolveCommit(ctx, s.commit); err != nil {
			return &Error{Reason: fmt.Sprintf("the clone of submodule %s does not have commit %.10s", s.path, s.commit),
				Remedy: fmt.Sprintf("git -C %s submodule update --init -- %s fetches it; or run without a worktree", from, s.path)}
		}
		if err := clone(ctx, common, dest, s.commit); err != nil {
			return fmt.Errorf("filling submodule %s: %w", s.path, brief(err))
		}
		if err := w.fill(ctx, source, dest, s.commit); err != nil {
			return err
		}
	}
	return nil
}

// clone checks out a commit of a repository in an empty directory, as a repository
// that takes its objects from there.
func clone(ctx context.Context, common, dest, commit string) error {
	g := git.OnHost(dest)
	format, err := git.OnHost(common, "GIT_DIR="+common).RunPlumbing(ctx, nil, process.Cmd{Args: []string{"rev-parse", "--show-object-format"}})
	if err != nil {
		return err
	}
	init := process.Cmd{Args: []string{"init", "--quiet", "--template=", "--object-format=" + strings.TrimSpace(string(format))}}
	if _, err := g.RunPlumbing(ctx, nil, init); err != nil {
		return err
	}
	info := filepath.Join(dest, ".git", "objects", "info")
	if err := os.MkdirAll(info, 0o755); err != nil {
		return err
	}
	if err := rootfs.WriteFile(filepath.Join(info, "alternates"), []byte(filepath.Join(common, "objects")+"\n")); err != nil {
		return err
	}
	_, err = g.Run(ctx, process.Cmd{Args: []string{"checkout", "--quiet", "--detach", commit}})
	return err
}

// checkGitlinks returns an error if a branch brings a submodule at a commit that the repository's
// clone at that path does not have: a merge would refer to a commit that exists nowhere.
func (w *Worktree) checkGitlinks(ctx context.Context, all []changedPath) error {
	for _, c := range all {
		if c.mode != modeGitlink {
			continue
		}
		clone, here := filepath.Join(w.Repo, filepath.FromSlash(c.path)), filepath.Join(w.Top, filepath.FromSlash(c.path))
		if !isRepository(clone) {
			return &Error{Reason: fmt.Sprintf("%s would be a submodule without a clone in %s", c.path, w.Repo), Paths: []string{c.path},
				Remedy: fmt.Sprintf("git clone %s %s makes one, then merge again; or git -C %s rm --cached -- %s, and commit", here, clone, w.Top, c.path)}
		}
		if has, err := hasAll(ctx, clone, []string{c.to}); err != nil {
			return err
		} else if !has {
			return &Error{Reason: fmt.Sprintf("commit %.10s of submodule %s is in the worktree only", c.to, c.path), Paths: []string{c.path},
				Remedy: fmt.Sprintf("git -C %s fetch %s HEAD brings it; then merge again", clone, here)}
		}
	}
	return nil
}

// withoutCommit explains an error of a commit: git adds no repository that has no commit.
func (w *Worktree) withoutCommit(ctx context.Context, err error) error {
	repos, _ := repositories(w.Top) // the error is that of the commit
	for _, dir := range repos {
		at := filepath.Join(w.Top, filepath.FromSlash(dir))
		if _, none := git.OnHost(at).ResolveCommit(ctx, "HEAD"); none != nil {
			return &Error{Reason: fmt.Sprintf("%s is a repository of its own without a commit, which git does not add", dir), Paths: []string{dir},
				Remedy: fmt.Sprintf("remove %s to have its files merged, then merge again", filepath.Join(at, ".git"))}
		}
	}
	return err
}

// unmergedPaths lists the paths in the work tree that no commit of its branch contains: of the
// repositories in it, submodules or not, uncommitted changes and commits that the clone in the
// same place of the first work tree does not have; files in submodules that are not checked out;
// and ignored files among written, which are paths below Dir.
func (w *Worktree) unmergedPaths(ctx context.Context, written []string) (out []string, err error) {
	repos, err := repositories(w.Top)
	if err != nil {
		return nil, err
	}
	subs, err := submodules(ctx, w.Inside(), "HEAD")
	if err != nil {
		return nil, err
	}
	var ignored []string
	for _, dir := range append([]string{"."}, repos...) {
		top, g := filepath.Join(w.Top, filepath.FromSlash(dir)), w.Inside()
		if dir != "." {
			g = git.OnHost(top)
			changed, err := unsaved(ctx, top, filepath.Join(w.Repo, filepath.FromSlash(dir)))
			if err != nil {
				return nil, fmt.Errorf("looking into the repository %s: %w", top, brief(err))
			}
			for _, p := range changed {
				out = append(out, path.Join(dir, p))
			}
			below, err := submodules(ctx, g, "HEAD")
			if err == nil { // it may have no commit
				for _, s := range below {
					subs = append(subs, gitlink{path.Join(dir, s.path), s.commit})
				}
			}
		}
		names, err := g.ListNames(ctx, "ls-files", "-o", "-i", "--exclude-standard", "--directory", "-z")
		if err != nil {
			return nil, err
		}
		for _, n := range names {
			ignored = append(ignored, strings.TrimPrefix(dir+"/"+n, "./"))
		}
	}
	for _, s := range subs {
		if slices.Contains(repos, s.path) {
			continue
		}
		files, err := filesIn(filepath.Join(w.Top, filepath.FromSlash(s.path)))
		if err != nil {
			return nil, err
		}
		for _, p := range files {
			out = append(out, path.Join(s.path, p))
		}
	}
	for _, p := range written {
		p = path.Join(w.Sub, p)
		if _, err := os.Lstat(filepath.Join(w.Top, filepath.FromSlash(p))); err != nil {
			continue
		}
		if slices.ContainsFunc(ignored, func(i string) bool { return p == i || strings.HasSuffix(i, "/") && strings.HasPrefix(p, i) }) {
			out = append(out, p)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// isRepository reports that a directory is a work tree itself, and not only inside one.
func isRepository(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, ".git"))
	return err == nil
}

// repositories lists the directories below top, at any depth, that are work trees of their own:
// git skips those that it ignores, and those in directories that it knows.
func repositories(top string) (dirs []string, err error) {
	err = filepath.WalkDir(top, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != ".git" || filepath.Dir(p) == top {
			if err == nil && d.IsDir() && d.Name() == ".git" {
				return fs.SkipDir
			}
			return err
		}
		rel, err := filepath.Rel(top, filepath.Dir(p))
		dirs = append(dirs, filepath.ToSlash(rel))
		if err == nil && d.IsDir() {
			err = fs.SkipDir
		}
		return err
	})
	return dirs, err
}

// filesIn lists the files in a directory, which may not exist.
func filesIn(dir string) (paths []string, err error) {
	err = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		paths = append(paths, filepath.ToSlash(rel))
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return paths, err
}

// unsaved lists the uncommitted paths of a repository, and "." if it has a HEAD or another ref
// that its clone does not have. The clone is asked, since the repository belonged to the job, with
// its commits, refs and submodules.
func unsaved(ctx context.Context, dir, clone string) (paths []string, err error) {
	g := git.OnHost(dir)
	s, err := g.Status(ctx)
	if err != nil {
		return nil, err
	}
	for _, e := range s.Entries {
		paths = append(paths, strings.TrimSuffix(e.Path, "/"))
	}
	refs, err := g.ListNames(ctx, "for-each-ref", "--format=%(objectname)%00")
	if err != nil {
		return nil, err
	}
	ids := []string{}
	for _, id := range append(refs, s.Commit) {
		if id = strings.TrimSpace(id); id != "" {
			ids = append(ids, id)
		}
	}
	has := len(ids) == 0
	if !has && isRepository(clone) {
		if has, err = hasAll(ctx, clone, ids); err != nil {
			return nil, err
		}
	}
	if !has {
		paths = append(paths, ".")
	}
	return paths, nil
}

// hasAll reports whether a repository has all of some objects.
func hasAll(ctx context.Context, dir string, ids []string) (bool, error) {
	out, err := git.OnHost(dir).RunPlumbing(ctx, nil, process.Cmd{Args: []string{"cat-file", "--batch-check=%(objecttype)"}, Stdin: []byte(strings.Join(ids, "\n") + "\n")})
	if err != nil {
		return false, err
	}
	n := 0
	for line := range strings.Lines(string(out)) {
		switch strings.TrimSpace(line) {
		case "commit", "tag", "tree", "blob":
			n++
		}
	}
	return n == len(ids), nil
}

// Writes returns the directories of the repository that a job must be able to change in order to
// commit here, and no more: not the settings, the hooks nor branches of people and of other jobs.
// All branches in the directory of this one can be changed, so each work tree should have a
// directory of its own. Jobs of older versions have one for all of them, refs/heads/adroit: a
// command of such a job can change the branches of all jobs.
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

// refDirs returns the directories of the branch and of its log, in the repository. They may not
// exist.
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

// checkDir returns an error if a directory of the repository is, or is behind, a link. A job that
// works in the repository itself can make one that leads anywhere, and git and the sandbox would
// follow it.
func (w *Worktree) checkDir(dir string) error {
	for at := dir; at != "."; at = path.Dir(at) {
		p := filepath.Join(w.Common, filepath.FromSlash(at))
		info, err := os.Lstat(p)
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ENOTDIR): // see what is around it
		case err != nil:
			return err
		case info.Mode().IsRegular() && strings.HasPrefix(at, "refs/heads/"):
			branch := strings.TrimPrefix(at, "refs/heads/")
			return &Error{Reason: fmt.Sprintf("the repository has a branch %s, so git can have none below it, as %s", branch, w.Branch),
				Remedy: fmt.Sprintf("rename it: git -C %s branch -m %s NAME", w.Repo, branch)}
		case !info.IsDir():
			return &Error{Reason: fmt.Sprintf("%s is no directory", p), Remedy: "commits of a worktree are written there: put a directory in its place"}
		}
	}
	return nil
}

// release removes the directories of a branch that nobody works on any more. Files that a job put
// in their place may stay: git does not read them.
func (w *Worktree) release() {
	refs, err := w.refDirs()
	if err != nil {
		return // nothing there is ours
	}
	for _, d := range refs {
		_ = os.Remove(filepath.Join(w.Common, filepath.FromSlash(d), rootfs.GitInUse))
	}
}
