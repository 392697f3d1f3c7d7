package adroit

import (
	"github.com/adroit-run/adroit/internal/git/worktree"
	"github.com/adroit-run/adroit/internal/jobdir"
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
