package adroit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/adroit-run/adroit/internal/git/worktree"
	"github.com/adroit-run/adroit/internal/host/jobdir"
	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/work/ledger"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// Remove implements [JobWriter].
func (rt *Runtime) Remove(ctx context.Context, ref string, o RemoveOptions) (*Removed, error) {
	j, err := rt.findOrFolder(ctx, ref)
	var notes []string
	if err == nil {
		notes, err = rt.remove(ctx, j, o)
	} else if r := rt.resumedRemoval(ref); r != nil {
		j, err = r.job, r.err
	}
	if err != nil {
		return nil, problem.AsError(err)
	}
	rt.sweep(ctx)
	return &Removed{j, notes}, nil
}

// sweep frees the former content of files that no job has any more, and removes what
// killed commands left and no row names. What cannot be removed is named.
func (rt *Runtime) sweep(ctx context.Context) {
	_, err := ledger.SweepContent(jobdir.ContentDir(rt.data()))
	err = errors.Join(err, rootfs.Sweep(rt.data()))
	ids, e := jobdir.NeverAdded(rt.data())
	err = errors.Join(err, e)
	if len(ids) > 0 {
		store, e := rt.store(ctx)
		err = errors.Join(err, e)
		for _, id := range ids {
			if e != nil {
				break
			}
			list, fault := store.List(ctx, jobs.Query{ID: id, Brief: true})
			if fault == nil && len(list) == 0 {
				fault = rt.forget(ctx, id)
			}
			err = errors.Join(err, fault)
		}
	}
	if err != nil {
		rt.warn("removing what killed commands left: %v", err)
	}
}

// remove removes a job: from the store first, so that nobody can claim, merge or
// continue it while its files go. A kill after Begin is made up for by finishRemovals. The
// notes are those of [Removed].
func (rt *Runtime) remove(ctx context.Context, j *jobs.Job, o RemoveOptions) (notes []string, err error) {
	if held(j) {
		return nil, problem.WithHint(fmt.Errorf("%s: %w; cancel it first", j.ID, jobs.ErrRunning), hint.Command("jobs cancel %s", j.ID))
	}
	r, err := jobdir.CheckRemoval(ctx, rt.data(), j, o.Force)
	if we := new(worktree.Error); errors.As(err, &we) {
		if we.Other != "" {
			return nil, problem.WithHint(fmt.Errorf("%s: %w", j.ID, err), hint.Command("jobs rm --force %s", j.ID)+" removes this one alone, and nothing of the other")
		}
		return nil, problem.WithHint(fmt.Errorf("%s: %w", j.ID, err), fmt.Sprintf("%s; or %s throws the work away", cmp.Or(we.Remedy, hint.Command("jobs merge %s", j.ID)), hint.Command("jobs rm --force %s", j.ID)))
	}
	if errors.Is(err, jobdir.ErrMerging) {
		return nil, problem.WithHint(fmt.Errorf("%s: %w", j.ID, err), hint.Command("jobs merge %s", j.ID))
	}
	if waits := new(jobdir.WaitingError); errors.As(err, &waits) {
		return nil, problem.WithHint(fmt.Errorf("%s: %w", j.ID, err), joinHint(j, waits)+"\n"+hint.Command("jobs rm --force %s", j.ID)+" deletes it")
	}
	if err != nil {
		return nil, err
	}
	m, err := rt.Manager(ctx)
	if err != nil {
		return nil, err
	}
	if err := r.Begin(); err != nil {
		return nil, err
	}
	if err := finishRemoval(ctx, m.Store, r); err != nil {
		return nil, err
	}
	if len(r.Waiting) > 0 {
		notes = append(notes, fmt.Sprintf("%s is removed with what a killed command of it had changed: %s", j.ID, jobdir.Describe(r.Waiting)))
	}
	if w := r.Worktree; w != nil && !r.Branch && w.Stays(ctx) {
		notes = append(notes, fmt.Sprintf("branch %[1]s of %[2]s stays, as it is not merged: git -C %[2]s merge %[1]s merges it", w.Branch, w.Repo))
	}
	return notes, nil
}

// joinHint says how what waits comes into the tree of a job.
func joinHint(j *jobs.Job, waits *jobdir.WaitingError) string {
	keep := "copy what you need from " + waits.Waiting[0].Dir
	_, gone := os.Stat(j.Dir)
	switch {
	case gone != nil || j.Status == lost || capped(j):
	case j.Status == jobs.Limit:
		return raiseHint(j)
	case !j.Status.Final() || j.Status.Halted() || j.Status == jobs.Failed:
		return hint.Command("jobs resume %s", j.ID) + " brings it there and goes on"
	case j.Workflow == agents.Workflow.Name:
		return hint.Command("continue %s \"...\"", j.ID) + " brings it there and goes on"
	}
	return keep
}

// A shrinker is a store that keeps the space of removed jobs until it is asked to give
// it back to the disk.
type shrinker interface {
	Shrink(ctx context.Context) (bool, error)
}

// Prune implements [JobWriter].
func (rt *Runtime) Prune(ctx context.Context, o PruneOptions) (*PruneReport, error) {
	m, err := rt.Manager(ctx)
	if err != nil {
		return nil, problem.AsError(err)
	}
	all, err := m.Store.List(ctx, jobs.Query{Brief: true})
	if err != nil {
		return nil, problem.AsError(err)
	}
	r, now := &PruneReport{Removed: []string{}}, time.Now()
	for _, j := range all {
		if !j.Status.Final() || j.Finished.IsZero() || now.Sub(j.Finished) < o.Age {
			continue
		}
		if !o.DryRun {
			notes, err := rt.remove(ctx, j, RemoveOptions{})
			if err != nil {
				r.Kept = append(r.Kept, KeptJob{j.ID, problem.AsError(err)})
				continue
			}
			r.Notes = append(r.Notes, notes...)
		}
		r.Removed = append(r.Removed, j.ID)
	}
	if !o.DryRun {
		rt.sweep(ctx)
	}
	if s, ok := m.Store.(shrinker); ok && err == nil && !o.DryRun && len(r.Removed) > 0 {
		_, err = s.Shrink(ctx)
	}
	return r, asError(err)
}
