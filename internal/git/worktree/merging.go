package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/adroit-run/adroit/internal/git"
	"github.com/adroit-run/adroit/internal/rootfs"
	"github.com/adroit-run/adroit/internal/workspace/process"
)

// A merging is the note of a merge that changes the branch that is checked out.
type merging struct {
	From string `json:"from"` // the commit that the branch was at
	To   string `json:"to"`   // and will be at
}

func (m merging) write(record string) error {
	if record == "" {
		return nil
	}
	if err := rootfs.WriteJSON(record, m); err != nil {
		return fmt.Errorf("noting the merge: %w", err)
	}
	return nil
}

// readMerging is the zero value if no merge was begun.
func readMerging(record string) (m merging, err error) {
	if record == "" {
		return m, nil
	}
	if err := rootfs.ReadJSON(record, &m); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return m, fmt.Errorf("reading the note of an earlier merge: %w", err)
	}
	return m, nil
}

func forgetMerging(record string) error {
	if record == "" {
		return nil
	}
	if err := os.Remove(record); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// changed lists the paths that differ between two commits.
func changed(ctx context.Context, g *git.Repo, from, to string) ([]string, error) {
	names, err := g.Run(ctx, process.Cmd{Args: []string{"diff-tree", "-r", "-z", "--name-only", "--no-renames", "--no-ext-diff", "--no-textconv", from, to}})
	if err != nil {
		return nil, err
	}
	return git.SplitNul(names), nil
}
