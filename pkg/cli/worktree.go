package cli

import (
	"fmt"
	"path/filepath"

	"github.com/adroit-run/adroit/internal/git/worktree"
	"github.com/adroit-run/adroit/internal/jobdir"
	"github.com/adroit-run/adroit/pkg/cli/internal/render"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// worktree is that of a job, nil if it has none.
func (a *app) worktree(id string) (*worktree.Worktree, error) {
	data, err := a.dataDir()
	if err != nil {
		return nil, err
	}
	return jobdir.OpenWorktree(data, id)
}

// worktreeBegins reports what of the work tree a job's worktree lacks.
func (a *app) worktreeBegins(w *worktree.Worktree) {
	if w != nil && w.Left > 0 {
		fmt.Fprintf(a.Stderr, "the worktree begins at commit %.10s: %s in %s not in it\n", w.Base, render.Plural(w.Left, "uncommitted change"), a.home(w.Repo)+isAre(w.Left))
	}
}

func isAre(n int) string {
	if n == 1 {
		return " is"
	}
	return " are"
}

// place says where a job works.
func (a *app) place(j *jobs.Job) string {
	w, err := a.worktree(j.ID)
	if err != nil || w == nil {
		return a.home(j.Dir)
	}
	return fmt.Sprintf("%s, worktree of %s on branch %s", a.home(j.Dir), a.home(filepath.Join(w.Repo, filepath.FromSlash(w.Sub))), w.Branch)
}
