package jobdir

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/adroit-run/adroit/internal/git/worktree"
	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/work/ledger"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// AddWorktree makes a git worktree for a future job, on a branch of the job's own, and keeps the
// record of it beside the job. data is the directory that keeps jobs, dir one in the repository;
// the job is to work in Dir of the result. base is the commit it begins at: see [worktree.AddAt]. [Forget] removes the remains after an error.
func AddWorktree(ctx context.Context, data, id, dir, base string) (*worktree.Worktree, error) {
	top, branch := newTree(data, id)
	home := filepath.Join(data, "jobs", id)
	return worktree.AddAt(ctx, dir, top, branch, base, func(w *worktree.Worktree) error {
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

// OpenWorktree finds the worktree of a job by the record beside it. It returns nil if there is no
// record: the job does not exist yet, or no longer, or comes from an earlier version. Otherwise
// see [Worktree].
func OpenWorktree(data, id string) (*worktree.Worktree, error) {
	w := new(worktree.Worktree)
	there, err := read(filepath.Join(data, "jobs", id, worktreeFile), w)
	if err != nil || !there {
		return nil, err
	}
	return placed(data, id, w), nil
}

// placed returns a job's worktree with its current place: see [rootfs.WorktreePath].
func placed(data, id string, w *worktree.Worktree) *worktree.Worktree {
	if w != nil {
		w.Top = rootfs.WorktreePath(data, id, w.Top)
	}
	return w
}

// FindWorktree returns the worktree of a job whose record cannot be read, or is gone, judging by
// the job's directory and the repository. It is nil if the job has none, and has no Repo if that
// is unknown.
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

// MergeRecord returns the file that records a merge of a job's worktree while it is under way.
func MergeRecord(data, id string) string { return filepath.Join(data, "merging", id+".json") }

// WorktreeDir returns the directory of a job's worktree.
func WorktreeDir(data, id string) string {
	top, _ := newTree(data, id)
	return top
}

// Written lists the paths below a job's directory that, according to its ledger, were written by
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

// newTree returns the directory and the branch of a new worktree. name is the ID of a job or, for
// a sub-agent, that ID, a dash and the sub-agent's name. Whoever commits on a branch can change
// everything in its directory, so no two worktrees have branches in one.
func newTree(data, name string) (top, branch string) {
	return filepath.Join(data, "worktrees", name), "adroit/" + name + "/work"
}

// Disconnected returns errors that name the worktrees of jobs and of their sub-agents that are
// here but cannot be worked with, such as after a data directory was copied. A worktree that was
// moved is connected with its repository.
func Disconnected(data string, list []*jobs.Job) (errs []error) {
	add := func(id, top string, check func() error) {
		if _, err := os.Lstat(top); err != nil {
			return // somebody has removed it
		}
		if err := check(); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", id, err))
		}
	}
	for _, j := range list {
		if w, err := Worktree(data, j); err == nil && w != nil {
			add(j.ID, w.Top, w.Check)
		}
		trees, _ := Trees(data, j.ID) // what cannot be read is named where the job is
		for _, t := range trees {
			add(j.ID, t.Tree.Top, t.Check)
		}
	}
	return errs
}

// Origin returns the work tree from which a job's worktree was made, if dir is in such a worktree:
// the operator's trust in the original applies to it.
func Origin(data, dir string) (string, error) {
	data, err := filepath.EvalSymlinks(data)
	if err != nil {
		return "", nil // nothing was made yet
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	rel, err := filepath.Rel(filepath.Join(data, "worktrees"), dir)
	if err != nil || !filepath.IsLocal(rel) || rel == "." {
		return "", nil
	}
	id, _, _ := strings.Cut(filepath.ToSlash(rel), "/")
	if id, name, ok := strings.Cut(id, "-"); ok { // of a sub-agent
		c, err := FindTree(data, id, name)
		if err != nil || c == nil {
			return "", err
		}
		if c.Plain {
			from, err := Origin(data, c.From)
			return cmp.Or(from, c.From), err
		}
		return c.Tree.Repo, nil
	}
	w, err := OpenWorktree(data, id)
	if err != nil || w == nil {
		return "", err
	}
	return w.Repo, nil
}

// Project returns the project of dir and the path of dir in it. The project is the top of its work
// tree or, for a worktree, the top of the repository it was made from.
func Project(data, dir string) (project, sub string, err error) {
	if dir, err = rootfs.Real(dir); err != nil {
		return "", "", err
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return "", "", problem.Invalidf("", "there is no directory %s", dir)
	}
	top, ok := rootfs.Repository(dir)
	if !ok {
		top = dir
	}
	if sub, err = filepath.Rel(top, dir); err != nil {
		return "", "", err
	}
	if from, err := Origin(data, dir); err == nil && from != "" {
		if from, err = rootfs.Real(from); err == nil {
			return from, sub, nil
		}
	}
	return mainTree(top), sub, nil
}

// mainTree returns the work tree that a linked one of git belongs to, or top itself.
func mainTree(top string) string {
	b, err := fs.ReadFile(rootfs.DirFS(top), ".git")
	if err != nil {
		return top // a directory: it is the main one
	}
	git, ok := strings.CutPrefix(strings.TrimSpace(string(b)), "gitdir: ")
	if !ok {
		return top
	}
	if !filepath.IsAbs(git) {
		git = filepath.Join(top, git)
	}
	if repo, _, ok := strings.Cut(filepath.ToSlash(git), "/.git/worktrees/"); ok {
		if repo, err := rootfs.Real(filepath.FromSlash(repo)); err == nil {
			return repo
		}
	}
	return top
}
