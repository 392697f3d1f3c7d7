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
	"github.com/adroit-run/adroit/internal/rootfs"
	"github.com/adroit-run/adroit/internal/workspace/process"
)

// A gitlink is a submodule: a commit of another repository in a commit.
type gitlink struct{ path, commit string }

// submodules are those of a commit.
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
		g := git.OnHost(source)
		out, err := g.RunPlumbing(ctx, nil, process.Cmd{Args: []string{"rev-parse", "--path-format=absolute", "--git-common-dir"}})
		if err != nil {
			return fmt.Errorf("finding the clone of submodule %s: %w", s.path, brief(err))
		}
		common := strings.TrimSuffix(string(out), "\n")
		if !rootfs.Within(w.Common, common) {
			return &Error{Reason: fmt.Sprintf("submodule %s has its git directory in itself, where commands of a worktree do not see it", s.path),
				Remedy: fmt.Sprintf("git -C %s submodule absorbgitdirs moves it into that of the repository; or run without a worktree", from)}
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

// checkMoved is an error if a submodule is at a commit that the repository's clone of
// it does not have: a merge would name what is nowhere.
func (w *Worktree) checkMoved(ctx context.Context) error {
	subs, err := submodules(ctx, w.Inside(), "HEAD")
	if err != nil {
		return err
	}
	for _, s := range subs {
		here := filepath.Join(w.Top, filepath.FromSlash(s.path))
		if _, err := os.Lstat(filepath.Join(here, ".git")); err != nil {
			continue
		}
		at, err := git.OnHost(here).ResolveCommit(ctx, "HEAD")
		if err != nil {
			return err
		}
		clone := filepath.Join(w.Repo, filepath.FromSlash(s.path))
		if _, err := git.OnHost(clone).ResolveCommit(ctx, at); err != nil {
			return &Error{Reason: fmt.Sprintf("commit %.10s of submodule %s is in the worktree only", at, s.path), Paths: []string{s.path},
				Remedy: fmt.Sprintf("git -C %s fetch %s HEAD brings it; then merge again", clone, here)}
		}
	}
	return nil
}

// beside are the paths in the work tree that no commit of its branch brings: what was
// changed in submodules and in repositories that git ignores, and of written, which
// are paths below Dir, what git ignores.
func (w *Worktree) beside(ctx context.Context, written []string) ([]string, error) {
	g := w.Inside()
	subs, err := submodules(ctx, g, "HEAD")
	if err != nil {
		return nil, err
	}
	var out []string
	for _, s := range subs {
		changed, err := changedIn(ctx, filepath.Join(w.Top, filepath.FromSlash(s.path)), s.commit)
		if err != nil {
			return nil, err
		}
		for _, p := range changed {
			out = append(out, path.Join(s.path, p))
		}
	}
	ignored, err := g.ListNames(ctx, "ls-files", "-o", "-i", "--exclude-standard", "--directory", "-z")
	if err != nil {
		return nil, err
	}
	for _, p := range ignored {
		if _, err := os.Lstat(filepath.Join(w.Top, filepath.FromSlash(p), ".git")); err == nil {
			out = append(out, p)
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

// changedIn are the paths of a submodule that are not as in a commit, "." for
// commits that only it has. One that is no repository has all its files.
func changedIn(ctx context.Context, dir, commit string) (paths []string, err error) {
	if _, err := os.Lstat(filepath.Join(dir, ".git")); err != nil {
		err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
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
	g := git.OnHost(dir)
	s, err := g.Status(ctx)
	if err != nil {
		return nil, err
	}
	for _, e := range s.Entries {
		paths = append(paths, e.Path)
	}
	more, err := g.RunPlumbing(ctx, nil, process.Cmd{Args: []string{"rev-list", "--max-count=1", "--all", "HEAD", "--not", commit}})
	if err != nil || len(more) > 0 { // also where the commit is not there
		paths = append(paths, ".")
	}
	subs, err := submodules(ctx, g, "HEAD")
	if err != nil {
		return nil, err
	}
	for _, s := range subs {
		below, err := changedIn(ctx, filepath.Join(dir, filepath.FromSlash(s.path)), s.commit)
		if err != nil {
			return nil, err
		}
		for _, p := range below {
			paths = append(paths, path.Join(s.path, p))
		}
	}
	return paths, nil
}
