package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/adroit-run/adroit/internal/filelock"
	"github.com/adroit-run/adroit/internal/git"
	"github.com/adroit-run/adroit/internal/workspace/process"
)

// repoLockWait bounds how long a caller waits for its turn. Hundreds of callers
// may queue on a loaded machine, and a holder that dies gives the lock up at once.
const repoLockWait = 15 * time.Minute

// lockRepo excludes all other lockRepo callers of one repository, also those of
// other processes, until unlock is called. Git's worktree and ref commands read
// the records of every worktree and fail on one that another git has half
// written or half removed, so they run one at a time.
//
// The lock is an flock(2) of the common directory itself. It leaves no file
// behind, and ends with the process that holds it.
func lockRepo(ctx context.Context, common string) (unlock func(), err error) {
	f, err := os.OpenFile(common, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, fmt.Errorf("locking the repository: %w", err)
	}
	unlock = func() { _ = filelock.Close(f) }
	limit := time.Now().Add(repoLockWait)
	for wait := 5 * time.Millisecond; ; wait = min(2*wait, 100*time.Millisecond) {
		err := filelock.Try(f)
		switch {
		case err == nil:
			return unlock, nil
		case !errors.Is(err, filelock.ErrHeld):
			unlock()
			return nil, fmt.Errorf("locking the repository %s: %w", common, err)
		case time.Now().After(limit):
			unlock()
			return nil, fmt.Errorf("another process has kept %s locked for %v; end it (lsof %s lists the candidates) and try again", common, repoLockWait, common)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			unlock()
			return nil, context.Cause(ctx)
		}
	}
}

// lockGit takes the lock of the repository that g works in.
func lockGit(ctx context.Context, g *git.Repo) (unlock func(), err error) {
	common, err := commonDir(ctx, g)
	if err != nil {
		return nil, err
	}
	return lockRepo(ctx, common)
}

// commonDir is the absolute path of the directory that all worktrees of a
// repository share.
func commonDir(ctx context.Context, g *git.Repo) (string, error) {
	out, err := g.RunPlumbing(ctx, nil, process.Cmd{Args: []string{"rev-parse", "--path-format=absolute", "--git-common-dir"}})
	return strings.TrimSuffix(string(out), "\n"), err
}
