package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/adroit-run/adroit/internal/git"
	filelock "github.com/adroit-run/adroit/internal/system/lock"
	"github.com/adroit-run/adroit/internal/work/process"
)

// lockWait bounds how long a caller waits for its turn. Hundreds of callers may queue
// on a loaded machine, and a holder that dies gives the lock up with its last git.
const lockWait = 15 * time.Minute

// lockDir excludes all other lockDir callers of one directory, also those of
// other processes, until unlock is called.
//
// The lock is an flock(2) of the directory itself. It leaves no file behind, and
// ends with the process that holds it and with the gits that hold lock
// ([git.Repo.Holding]): what a killed process has started still changes things.
func lockDir(ctx context.Context, dir string) (lock *os.File, unlock func(), err error) {
	f, err := os.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("locking a directory: %w", err)
	}
	unlock = func() { _ = filelock.Close(f) }
	limit := time.Now().Add(lockWait)
	for wait := 5 * time.Millisecond; ; wait = min(2*wait, 100*time.Millisecond) {
		err := filelock.Try(f)
		switch {
		case err == nil:
			return f, unlock, nil
		case !errors.Is(err, filelock.ErrHeld):
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

// lockRepo takes the lock of the repository that g works in, which locked holds.
// Git's worktree and ref commands read the records of every worktree and fail on one
// that another git has half written or half removed, so they run one at a time.
// common is the absolute path of the directory that all worktrees of the repository share.
func lockRepo(ctx context.Context, g *git.Repo) (common string, locked *git.Repo, unlock func(), err error) {
	out, err := g.RunPlumbing(ctx, nil, process.Cmd{Args: []string{"rev-parse", "--path-format=absolute", "--git-common-dir"}})
	if err != nil {
		return "", nil, nil, err
	}
	common = strings.TrimSuffix(string(out), "\n")
	lock, unlock, err := lockDir(ctx, common)
	if err != nil {
		return "", nil, nil, err
	}
	return common, g.Holding(lock), unlock, nil
}
