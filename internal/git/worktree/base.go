package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/git"
	"github.com/adroit-run/adroit/internal/system/lock"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/work/process"
	"golang.org/x/sys/unix"
)

// ownConfig makes git commit a work tree exactly as it is on disk: nothing is left out, and
// unusual line endings are no reason to refuse.
var ownConfig = []string{"-c", "core.sparseCheckout=false", "-c", "core.safecrlf=false"}

// whoCommits signs the commits that nobody asked for.
var whoCommits = []string{
	"GIT_AUTHOR_NAME=adroit", "GIT_AUTHOR_EMAIL=adroit@localhost",
	"GIT_COMMITTER_NAME=adroit", "GIT_COMMITTER_EMAIL=adroit@localhost",
}

// begin commits the copied files as the commit at which the copy's branch begins. inner are its
// directories that are repositories in the original.
func (c *Copy) begin(ctx context.Context, names *rootfs.DenyList, inner []rootfs.RawName) error {
	w := &c.Tree
	g := w.Inside().Operation()
	if _, err := g.Run(ctx, process.Cmd{Args: git.Args(ownConfig, "read-tree", w.Base)}); err != nil {
		return fmt.Errorf("reading the last commit: %w", err)
	}
	for _, d := range inner { // no submodule any more, so that git there sees the files
		if _, err := g.Run(ctx, process.Cmd{Args: git.Args(ownConfig, "update-index", "--force-remove", "--", string(d))}); err != nil {
			return fmt.Errorf("taking %s for a directory: %w", d, err)
		}
	}
	commit, err := w.commitTree(ctx, g, names, w.Base, "The work tree as it was, what was not committed included")
	if err != nil {
		return fmt.Errorf("noting what the worktree begins with: %w", err)
	}
	w.Base = commit
	return nil
}

// commitTree commits the work tree as it is on the branch, on top of commit, and returns the
// branch's new commit. Files with names of secrets stay as they are in the index.
func (w *Worktree) commitTree(ctx context.Context, g *git.Repo, names *rootfs.DenyList, commit, message string) (string, error) {
	if err := g.Stage(ctx, []string{":/"}, ownConfig...); err != nil {
		return "", err
	}
	changed, err := g.Run(ctx, process.Cmd{Args: []string{"diff-index", "--cached", "--name-only", "--no-renames", "--no-ext-diff", "--ignore-submodules=none", "-z", commit}})
	if err != nil {
		return "", err
	}
	all := git.SplitNul(changed)
	var back []string
	for _, name := range all {
		if names.Check(name, name, false) != nil {
			back = append(back, ":(top,literal)"+name)
		}
	}
	if len(back) > 0 {
		if _, err := g.Run(ctx, process.Cmd{Args: git.Args(ownConfig, "reset", "--quiet", commit, "--", back)}); err != nil {
			return "", err
		}
	}
	if len(back) == len(all) {
		return commit, nil
	}
	// With the filters switched off: even write-tree looks into files, where the
	// index is as young as they are. What follows it reads and writes objects alone.
	out, err := g.Run(ctx, process.Cmd{Args: []string{"write-tree"}})
	if err != nil {
		return "", err
	}
	tree := strings.TrimSpace(string(out))
	word := func(args ...string) (string, error) {
		out, err := g.RunPlumbing(ctx, nil, process.Cmd{Args: args, Stdin: []byte(message), Env: whoCommits})
		return strings.TrimSpace(string(out)), err
	}
	next, err := word("commit-tree", "--no-gpg-sign", "-p", commit, "-F", "-", tree)
	if err != nil {
		return "", err
	}
	_, err = word("update-ref", "--no-deref", "-m", "adroit", "refs/heads/"+w.Branch, next, commit) // what a job made it refer to stays
	return next, err
}

// lockWait bounds how long a caller waits for its turn. Hundreds of callers may queue
// on a loaded machine, and a holder that dies gives the lock up with its last git.
const lockWait = 15 * time.Minute

// lockDir excludes all other lockDir callers of one directory, also those of other processes,
// until unlock is called.
//
// The lock is an flock(2) of the directory itself. It leaves no file behind, and ends with this
// process and the git processes that inherited locked ([git.Repo.Holding]), since a git started by
// a killed process still changes things.
func lockDir(ctx context.Context, dir string) (locked *os.File, unlock func(), err error) {
	f, err := os.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("locking a directory: %w", err)
	}
	unlock = func() { _ = lock.Close(f) }
	limit := time.Now().Add(lockWait)
	for wait := 5 * time.Millisecond; ; wait = min(2*wait, 100*time.Millisecond) {
		err := lock.Try(f)
		switch {
		case err == nil:
			return f, unlock, nil
		case !errors.Is(err, lock.ErrHeld):
			unlock()
			return nil, nil, fmt.Errorf("locking %s: %w", dir, err)
		case time.Now().After(limit):
			unlock()
			return nil, nil, fmt.Errorf("another process has kept %s locked for %v; end it (lsof %s lists the candidates) and try again", dir, lockWait, dir)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			unlock()
			return nil, nil, context.Cause(ctx)
		}
	}
}

// lockRepo locks the repository that g works in; locked is a [git.Repo] whose processes inherit
// the lock. Git's worktree and ref commands read the records of every worktree and fail on one
// that another git has half written or half removed, so they run one at a time. common is the
// absolute path of the directory that all worktrees of the repository share.
func lockRepo(ctx context.Context, g *git.Repo) (common string, locked *git.Repo, unlock func(), err error) {
	out, err := g.RunPlumbing(ctx, nil, process.Cmd{Args: []string{"rev-parse", "--path-format=absolute", "--git-common-dir"}})
	if err != nil {
		return "", nil, nil, err
	}
	common = strings.TrimSuffix(string(out), "\n")
	held, unlock, err := lockDir(ctx, common)
	if err != nil {
		return "", nil, nil, err
	}
	return common, g.Holding(held), unlock, nil
}
