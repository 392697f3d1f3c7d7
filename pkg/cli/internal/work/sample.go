package work

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/adroit-run/adroit/internal/system/hostexec"
	"github.com/adroit-run/adroit/internal/system/rootfs"
)

// CommitAll makes dir a repository with one commit, if git is there.
func CommitAll(ctx context.Context, dir string) error {
	if _, err := hostexec.Find("git"); err != nil {
		return nil // what is shown works without history
	}
	return Git(ctx, dir, []string{"init", "-q"}, []string{"add", "-A"},
		[]string{"-c", "user.name=adroit", "-c", "user.email=demo@localhost", "-c", "commit.gpgsign=false", "commit", "-q", "--no-verify", "-m", "Begin"})
}

// Git runs git in dir, once for each list of arguments.
func Git(ctx context.Context, dir string, lists ...[]string) error {
	for _, args := range lists {
		cmd := hostexec.Command(ctx, "git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("git %s: %w: %s", args[0], err, out)
		}
	}
	return nil
}

// Script writes a script in dir and returns the model that plays it.
func Script(dir string, turns []byte) (model string, err error) {
	path := filepath.Join(dir, "turns.yaml")
	return "script:" + path, rootfs.WriteScratch(path, 0o600, turns)
}
