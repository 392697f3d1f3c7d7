package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/git"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/work/ledger"
	"github.com/adroit-run/adroit/internal/work/process"
	"github.com/adroit-run/adroit/pkg/workspace"
)

// A MergeResult describes the changes that Join brought back.
type MergeResult struct {
	Paths     []string         `json:"paths,omitempty"`     // that have changed, relative to the workspace
	Conflicts []ledger.Skipped `json:"conflicts,omitempty"` // paths that are as they were, and why
	Kept      string           `json:"kept,omitempty"`      // the copy, if there are conflicts
	Branch    string           `json:"branch,omitempty"`    // and the branch that has what is in it
}

// Merge brings the copy's changes, committed there or not, into the files it was copied from,
// under the step of f: they are in the ledger, and in no commit. A path that nobody else has
// changed is taken over. Where both changed a text, the changes are merged if that is clean.
// Everything else is a conflict: our version stays here, and theirs stays in the copy. Without
// conflicts the copy is removed.
//
// Nobody may work in the copy any more. Merge is idempotent: its plan is recorded before the first
// file changes, and an interrupted merge continues with it. The base of a text merge comes from
// the ledgers, of f and of olds, or from the repository, by its digest.
func (c *Copy) Merge(ctx context.Context, f *workspace.Files, olds ...*ledger.Ledger) (*MergeResult, error) {
	if f.Ledger == nil {
		return nil, errors.New("what a worktree brings back needs a ledger")
	}
	unlock, err := c.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if c.Result == nil {
		if err := c.Check(); err != nil {
			return nil, err
		}
		p, err := c.plan(ctx, f, olds)
		if err != nil {
			return nil, err
		}
		if c.Result, err = c.bring(ctx, f, p); err != nil {
			return nil, err
		}
		if len(c.Result.Conflicts) > 0 {
			c.keepResult(ctx, f.DenyList)
		}
		c.at("brought")
		if err := c.save(); err != nil {
			return nil, err
		}
		c.at("noted")
	}
	if len(c.Result.Conflicts) > 0 {
		return c.Result, nil
	}
	// What is left over of the copy makes nothing undone: Remove tries again.
	_ = c.remove(context.WithoutCancel(ctx))
	return c.Result, nil
}

// keepResult records where the other version is, and commits it there as well.
func (c *Copy) keepResult(ctx context.Context, names *rootfs.DenyList) {
	c.Result.Kept = c.Dir()
	if c.Plain {
		return
	}
	w := &c.Tree
	tip, err := git.OnHost(w.Repo).ResolveCommit(ctx, "refs/heads/"+w.Branch)
	if branch, ok := w.checkedOut(); err == nil && ok && branch == w.Branch {
		_, err = w.commitTree(ctx, w.Inside().Operation(), names, tip, "Changes that were not all brought back")
	}
	if err == nil {
		c.Result.Branch = w.Branch // else the directory alone has it
	}
}

// bring carries out the plan.
func (c *Copy) bring(ctx context.Context, f *workspace.Files, p *mergePlan) (*MergeResult, error) {
	j := &MergeResult{Conflicts: slices.Clone(p.Conflicts)}
	for _, m := range p.Moves {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		err := f.Apply(m, c.at)
		var broken *ledger.WriteError
		switch {
		case errors.As(err, &broken):
			return nil, broken.Err
		case err != nil:
			var why *rootfs.PathError
			reason := err.Error()
			if errors.As(err, &why) {
				reason = why.Reason
			}
			if m.Dir {
				continue // somebody put something in it
			}
			j.Conflicts = append(j.Conflicts, ledger.Skipped{Path: string(m.Path), Reason: reason})
		case !m.Dir:
			j.Paths = append(j.Paths, string(m.Path))
		}
	}
	slices.Sort(j.Paths)
	slices.SortFunc(j.Conflicts, func(a, b ledger.Skipped) int { return cmpPath(a.Path, b.Path) })
	return j, nil
}

// before returns the content of a path at the time of the copy, for merging: from a ledger, or
// from the commit with which the copy began.
func (c *Copy) before(ctx context.Context, p string, s rootfs.State, leds []*ledger.Ledger) ([]byte, error) {
	for _, l := range leds {
		if b, err := l.Load(s.Digest); err == nil {
			return b, nil
		}
	}
	if c.Plain {
		return nil, fs.ErrNotExist
	}
	b, err := git.OnHost(c.Tree.Repo).RunPlumbing(ctx, nil, process.Cmd{Args: []string{"cat-file", "blob", c.Tree.Base + ":" + p}})
	if err != nil {
		return nil, err
	}
	if rootfs.Digest(b) != s.Digest {
		return nil, fmt.Errorf("git has it otherwise than it was on disk")
	}
	return b, nil
}

// planned returns the recorded plan of an earlier, interrupted Join, or nil.
func (c *Copy) planned() (*mergePlan, error) {
	p := new(mergePlan)
	err := rootfs.ReadJSON(c.file("join.json"), p)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return p, err
}

// mergeCommits makes a merge of two commits without touching any file or branch.
func mergeCommits(ctx context.Context, g *git.Repo, ours, theirs, message string) (string, error) {
	out, err := g.Run(ctx, process.Cmd{Args: []string{"merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", ours, theirs}})
	if exit, ok := errors.AsType[*git.ExitError](err); ok && exit.Code == 1 {
		_, names, _ := strings.Cut(string(out), "\x00")
		return "", &Error{Reason: "both sides changed the same lines", Paths: git.SplitNul([]byte(names)),
			Remedy: "merge by hand: git merge " + theirs + ", then resolve; or undo the job"}
	}
	if err != nil {
		return "", err
	}
	tree, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\x00")
	out, err = g.RunPlumbing(ctx, nil, process.Cmd{Args: []string{"commit-tree", "--no-gpg-sign", "-p", ours, "-p", theirs, "-F", "-", tree}, Stdin: []byte(message)})
	return strings.TrimSpace(string(out)), err
}
