package adroit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/adroit-run/adroit/internal/git/worktree"
	"github.com/adroit-run/adroit/internal/host/jobdir"
	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// config is the configuration of a job. If it cannot be known any more, the person is
// warned and the job goes on without: it trusts nothing, has no servers of its request,
// and its commands are confined as those of all jobs here.
func (rt *Runtime) config(j *jobs.Job) JobConfig {
	c, err := jobdir.LoadConfig(rt.data(), j)
	if err != nil {
		rt.warnUnknown(j.ID+" config", "%v: the options that %s was started with are unknown, and it goes on with the settings", err, j.ID)
		return JobConfig{}
	}
	return c
}

// worktree is the worktree of a job, nil if it has none or that cannot be known.
func (rt *Runtime) worktree(j *jobs.Job) *worktree.Worktree {
	w, err := jobdir.Worktree(rt.data(), j)
	if err != nil {
		rt.warnUnknown(j.ID+" worktree", "%v: whether %s has a worktree is unknown; its files are in %s", err, j.ID, j.Dir)
		return nil
	}
	return w
}

// warnUnknown warns once of each thing.
func (rt *Runtime) warnUnknown(about, format string, args ...any) {
	if _, again := rt.unknown.LoadOrStore(about, true); !again {
		rt.warn(format, args...)
	}
}

// unusableTree is an error if a person has removed the worktree of a job, or its branch.
func (rt *Runtime) unusableTree(j *jobs.Job) error {
	if err := rt.goneTree(j); err != nil {
		return err
	}
	if w := rt.worktree(j); w != nil {
		if err := w.CheckBranch(); err != nil {
			return problem.AsError(fmt.Errorf("%s: %w", j.ID, err))
		}
	}
	return nil
}

// goneTree is an error if the worktree of a job was removed by hand, with what still works.
func (rt *Runtime) goneTree(j *jobs.Job) error {
	if _, err := os.Stat(j.Dir); !errors.Is(err, fs.ErrNotExist) {
		return nil // what else is wrong, whoever works there reports
	}
	w := rt.worktree(j)
	if w == nil {
		return nil
	}
	help := fmt.Sprintf("%s does its task again in a new worktree\n%s lists what it had changed; %s forgets it",
		hint.Command("jobs retry %s", j.ID), hint.Command("jobs steps %s", j.ID), hint.Command("jobs rm %s", j.ID))
	if we := new(worktree.Error); errors.As(w.Check(), &we) && we.Remedy != "" {
		help = we.Remedy + "\n" + help
	}
	return problem.Invalidf(help, "the worktree of %s is gone, with what was not committed there: %s", j.ID, j.Dir)
}
