package jobdir

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/adroit-run/adroit/internal/git/worktree"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/work/ledger"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// AddWorktree makes a git worktree for a job that will be, on a branch of the
// job's own, and keeps the record of it beside the job. data is the directory
// that keeps jobs, dir one in the repository; the job is to work in Dir of
// what is returned. What is left after an error, [Forget] removes.
func AddWorktree(ctx context.Context, data, id, dir string) (*worktree.Worktree, error) {
	top, branch := newTree(data, id)
	home := filepath.Join(data, "jobs", id)
	return worktree.Add(ctx, dir, top, branch, func(w *worktree.Worktree) error {
		if err := rootfs.WriteJSON(filepath.Join(home, worktreeFile), w); err != nil {
			return fmt.Errorf("noting the worktree: %w", err)
		}
		return nil
	})
}

// worktreeFile is the file in a job's directory that has the record of its worktree.
const worktreeFile = "worktree.json"

// Worktree returns the worktree of a job, nil if it has none. With an *UnknownError it
// is not known.
func Worktree(data string, j *jobs.Job) (*worktree.Worktree, error) {
	if len(j.Host) == 0 {
		return OpenWorktree(data, j.ID)
	}
	var r record
	err := json.Unmarshal(j.Host, &r)
	return placed(data, j.ID, r.Worktree), err
}

// OpenWorktree finds the worktree of a job by the record beside it, nil if there is
// none: of what is no job yet, or none any more, or of an earlier version. Else see
// [Worktree].
func OpenWorktree(data, id string) (*worktree.Worktree, error) {
	w := new(worktree.Worktree)
	there, err := read(filepath.Join(data, "jobs", id, worktreeFile), w)
	if err != nil || !there {
		return nil, err
	}
	return placed(data, id, w), nil
}

// placed has where the worktree of a job is now: see [rootfs.WorktreePath].
func placed(data, id string, w *worktree.Worktree) *worktree.Worktree {
	if w != nil {
		w.Top = rootfs.WorktreePath(data, id, w.Top)
	}
	return w
}

// FindWorktree is the worktree of a job whose record cannot be read, or is gone: by where
// the job works, and what the repository has of it. It is nil if the job has none, and
// has no Repo if that is not known.
func FindWorktree(data string, j *jobs.Job) (*worktree.Worktree, error) {
	top, branch := newTree(data, j.ID)
	sub, err := filepath.Rel(top, j.Dir)
	if err != nil || !filepath.IsLocal(sub) {
		return nil, nil
	}
	w, err := worktree.Find(top, branch)
	if err != nil {
		return nil, err
	}
	if w == nil {
		w = &worktree.Worktree{Top: top, Branch: branch}
	}
	if w.Sub = filepath.ToSlash(sub); w.Sub == "." {
		w.Sub = ""
	}
	return w, nil
}

// MergeRecord is the file that records a merge of a job's worktree while it is under way.
func MergeRecord(data, id string) string { return filepath.Join(data, "merging", id+".json") }

// WorktreeDir is where the worktree of a job is.
func WorktreeDir(data, id string) string {
	top, _ := newTree(data, id)
	return top
}

// Written are the paths below a job's directory that its ledger has as written by
// the job, or while it worked.
func Written(ctx context.Context, data, id string) (paths []string, err error) {
	led, err := OpenLedger(data, id)
	if err != nil || led == nil {
		return nil, err
	}
	defer led.Close()
	changes, err := led.Changes(ctx)
	for _, c := range changes {
		if c.Kind != ledger.Deleted {
			paths = append(paths, c.Path)
		}
	}
	return paths, err
}

// newTree is where a new worktree is and what its branch is called. A name is
// the id of a job or, of a sub-agent, that id, a dash and the sub-agent's name.
// Whoever commits on a branch can change all that is in its directory, so no two
// worktrees have branches in one.
func newTree(data, name string) (top, branch string) {
	return filepath.Join(data, "worktrees", name), "adroit/" + name + "/work"
}
