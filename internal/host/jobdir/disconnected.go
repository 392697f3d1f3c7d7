package jobdir

import (
	"fmt"
	"os"

	"github.com/adroit-run/adroit/pkg/jobs"
)

// Disconnected are errors that name the worktrees of jobs and of their sub-agents that are
// here and cannot be worked with, as after a data directory was copied. One that was
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
