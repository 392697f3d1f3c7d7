package rootfs

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// MergeText merges two changes of a text with git merge-file, below dir. It
// works without a repository, and reads no settings of one.
func MergeText(ctx context.Context, dir string, old, ours, theirs []byte) (merged []byte, clean bool, err error) {
	dir, err = os.MkdirTemp(dir, "merge-")
	if err != nil {
		return nil, false, err
	}
	defer os.RemoveAll(dir)
	for name, b := range map[string][]byte{"old": old, "ours": ours, "theirs": theirs} {
		if err := WriteScratch(filepath.Join(dir, name), 0o600, b); err != nil {
			return nil, false, err
		}
	}
	env := []string{"GIT_CEILING_DIRECTORIES=" + filepath.Dir(dir), "GIT_DIR=" + filepath.Join(dir, "none")}
	err = RunGit(ctx, dir, env, nil, io.Discard, "merge-file", "--quiet", "ours", "old", "theirs")
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() > 0 && exit.ExitCode() < 128 {
		return nil, false, nil // as many conflicts
	}
	if err != nil {
		return nil, false, err
	}
	merged, err = os.ReadFile(filepath.Join(dir, "ours"))
	return merged, err == nil, err
}

const (
	SameLines = "both sides changed the same lines, or lines next to each other"
)
