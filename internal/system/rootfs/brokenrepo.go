package rootfs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
)

// A BrokenRepositoryError is a repository that git refuses.
type BrokenRepositoryError struct {
	File   string // absolute, what is broken
	Reason string // what is wrong with it
	Remedy string // what to do
}

func (e *BrokenRepositoryError) Error() string {
	return fmt.Sprintf("the repository is broken: %q %s", e.File, e.Reason)
}

// Hint returns the remedy.
func (e *BrokenRepositoryError) Hint() string { return e.Remedy }

var headFile = lazyregexp.New(`^(ref: refs/[^\s]+|[0-9a-f]{40}|[0-9a-f]{64})\s*$`)

// BrokenRepository finds damage in the repository that contains dir; it returns nil if it finds
// none, or there is no repository. It is for repositories that git has refused, and names the
// damaged file, which git mostly does not. dir is absolute and has no links.
func BrokenRepository(ctx context.Context, dir string) *BrokenRepositoryError {
	top, ok := Repository(dir)
	if !ok {
		return nil
	}
	at, broken := gitDirectory(filepath.Join(top, ".git"))
	if broken != nil {
		return broken
	}
	common := at
	if b, err := beginning(filepath.Join(at, "commondir")); err == nil {
		if common = strings.TrimSpace(string(b)); !filepath.IsAbs(common) {
			common = filepath.Join(at, common)
		}
	}
	const again = "restore it from a backup, or clone the repository again beside this directory"
	head := filepath.Join(at, "HEAD")
	if b, err := beginning(head); err != nil {
		return &BrokenRepositoryError{head, "cannot be read: " + numberOf(err).Error(), again}
	} else if !headFile.MatchString(string(b)) {
		return &BrokenRepositoryError{head, "names no branch and no commit", "write the branch into it, such as: ref: refs/heads/main"}
	}
	for _, name := range []string{"objects", "refs"} {
		if info, err := os.Stat(filepath.Join(common, name)); err != nil || !info.IsDir() {
			return &BrokenRepositoryError{filepath.Join(common, name), "is no directory", again}
		}
	}
	config := filepath.Join(common, "config")
	if err := RunGit(ctx, "/", nil, nil, io.Discard, "config", "--file", config, "--list"); err != nil && Exists(config) {
		return &BrokenRepositoryError{config, "cannot be parsed", "correct it; git config --file FILE --list names the line"}
	}
	if RunGit(ctx, top, nil, nil, io.Discard, "rev-parse", "--git-dir") != nil {
		return &BrokenRepositoryError{at, "is one that git refuses to use", "git status names the reason; a repository of another user is used after git config --global --add safe.directory " + top}
	}
	index := filepath.Join(at, "index")
	if b, err := beginning(index); err == nil && !bytes.HasPrefix(b, []byte("DIRC")) || RunGit(ctx, top, nil, nil, io.Discard, "ls-files", "-z") != nil && Exists(index) {
		return &BrokenRepositoryError{index, "is damaged", "remove it, then git reset makes it again from the last commit; what was staged and not committed is to be staged again"}
	}
	return missingObject(ctx, top, filepath.Join(common, "objects"))
}

// gitDirectory returns the git directory that the .git of a work tree leads to.
func gitDirectory(file string) (string, *BrokenRepositoryError) {
	const remedy = "restore the file, or remove it: then the directory is no repository, or of the one above"
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return "", &BrokenRepositoryError{file, "cannot be followed: " + numberOf(err).Error(), remedy}
	case info.IsDir():
		return file, nil
	}
	b, err := beginning(file)
	to, ok := strings.CutPrefix(string(b), "gitdir: ")
	switch to = strings.TrimSpace(to); {
	case err != nil:
		return "", &BrokenRepositoryError{file, "cannot be read: " + numberOf(err).Error(), remedy}
	case len(b) == 0:
		return "", &BrokenRepositoryError{file, "is an empty file", remedy}
	case !ok || to == "":
		return "", &BrokenRepositoryError{file, "is a file that does not begin with gitdir: and a directory", remedy}
	case !filepath.IsAbs(to):
		to = filepath.Join(filepath.Dir(file), to)
	}
	if info, err := os.Stat(to); err != nil || !info.IsDir() {
		return "", &BrokenRepositoryError{file, fmt.Sprintf("leads to %q, which is no directory", to), "restore that directory, or name the right one; git worktree repair does so for a worktree that was moved"}
	}
	return to, nil
}

// missingObject looks for the objects that the last commit needs. It ignores a partial clone,
// where objects are missing on purpose.
func missingObject(ctx context.Context, top, objects string) *BrokenRepositoryError {
	t := &Tree{Dir: top}
	head, err := t.Git(ctx, nil, "rev-parse", "--verify", "--quiet", "HEAD")
	if err != nil {
		return nil // there is no commit yet
	}
	if _, err := t.Git(ctx, nil, "config", "--get", "extensions.partialClone"); err == nil {
		return nil
	}
	lost := func(what string) *BrokenRepositoryError {
		return &BrokenRepositoryError{objects, "lacks " + what + ", or it is damaged there", "git fsck lists all that is; git fetch --refetch brings back what a remote has, a backup the rest"}
	}
	commit := strings.TrimSpace(string(head))
	if _, err := t.Git(ctx, nil, "cat-file", "commit", commit); err != nil {
		return lost("the last commit, " + commit)
	}
	list, err := t.Git(ctx, nil, "rev-list", "--objects", "--missing=print", "--max-count=1", commit)
	if err != nil {
		return lost("something that the last commit, " + commit + ", consists of")
	}
	for line := range strings.Lines(string(list)) {
		if oid, ok := strings.CutPrefix(line, "?"); ok {
			return lost("the object " + strings.TrimSpace(oid) + " of the last commit")
		}
	}
	return nil
}

// numberOf removes the path from an error.
func numberOf(err error) error {
	if e, ok := errors.AsType[*os.PathError](err); ok {
		return e.Err
	}
	return err
}

// beginning returns the first 4 KB of a file, without waiting for a pipe.
func beginning(name string) ([]byte, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, 4<<10))
}
