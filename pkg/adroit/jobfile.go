package adroit

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"github.com/adroit-run/adroit/internal/git/worktree"
	"github.com/adroit-run/adroit/internal/jobdir"
	"github.com/adroit-run/adroit/pkg/jobs"
)

func (rt *Runtime) jobConfig(id string) (JobConfig, error) {
	return jobdir.LoadConfig(rt.data(), id)
}

// saveJob writes the job file of a job that is about to run.
func (rt *Runtime) saveJob(j *jobs.Job) error {
	home := filepath.Join(rt.home, j.ID)
	if _, err := os.Lstat(filepath.Join(home, jobdir.JobFile)); err == nil {
		return nil
	}
	b, err := json.Marshal(jobs.Job{ID: j.ID, Workflow: j.Workflow, Agent: j.Agent, Title: j.Title, Dir: j.Dir, Model: j.Model, Created: j.Created})
	if err != nil {
		return err
	}
	return jobdir.WriteFile(home, jobdir.JobFile, b)
}

// removeAllTrees removes those of all jobs, which end with the runtime.
func (rt *Runtime) removeAllTrees() error {
	all, err := os.ReadDir(rt.home)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	errs := []error{err}
	for _, e := range all {
		errs = append(errs, jobdir.RemoveTrees(context.Background(), filepath.Dir(rt.home), e.Name()))
	}
	return errors.Join(errs...)
}

// worktree is the worktree of a job that was submitted with Input.Worktree, nil
// for others.
func (rt *Runtime) worktree(id string) (*worktree.Worktree, error) {
	return jobdir.OpenWorktree(rt.data(), id)
}
