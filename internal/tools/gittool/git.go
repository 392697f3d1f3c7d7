// Package git shows and records changes through the workspace's git runner,
// which runs no code of the repository.
//
//	set, err := tools.NewSet(git.Status, git.Diff, git.Log, git.Show, git.Blame, git.Commit, git.Branch)
//
// It does not push, fetch, rebase or rewrite: what it does stays local and can
// be seen.
package gittool

import (
	"errors"
	"fmt"
	"strings"

	"github.com/adroit-run/adroit/internal/git"
)

const mostText = 24_000 // bytes of a diff or log shown to the model

// cut ends long text at a line and reports what to do about the rest.
func cut(s, hint string) string {
	if len(s) <= mostText {
		return s
	}
	head := s[:mostText]
	if i := strings.LastIndexByte(head, '\n'); i > 0 {
		head = head[:i+1]
	}
	return fmt.Sprintf("%s[%d of %d bytes shown; %s]\n", strings.ToValidUTF8(head, ""), len(head), len(s), hint)
}

// explain adds what to do to the failures a model runs into most.
func explain(err error) error {
	var exit *git.ExitError
	if !errors.As(err, &exit) {
		return err
	}
	switch s := err.Error(); {
	case strings.Contains(s, "not a git repository"):
		return fmt.Errorf("the workspace is not a git repository: work without git (%w)", err)
	case exit.NoIdentity():
		return fmt.Errorf("git does not know who commits: the person who runs you has to set user.name and user.email (%w)", err)
	case strings.Contains(s, "rev-parse --verify"):
		return fmt.Errorf("there is no such commit: git_log lists commits, git_branch branches (%w)", err)
	case strings.Contains(s, "has only"):
		return fmt.Errorf("the file is shorter: %w", err)
	case strings.Contains(s, "would be overwritten"):
		return fmt.Errorf("uncommitted changes are in the way: commit them first (%w)", err)
	}
	return err
}
