package adroit

import (
	"context"
	"path/filepath"
	"time"

	"github.com/adroit-run/adroit/internal/apierr"
	"github.com/adroit-run/adroit/internal/coordinator"
	"github.com/adroit-run/adroit/internal/coordinator/repairs"
	"github.com/adroit-run/adroit/internal/failures"
	"github.com/adroit-run/adroit/internal/jobdir"
	"github.com/adroit-run/adroit/internal/rootfs"
	"github.com/adroit-run/adroit/internal/secret"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// A Failure is one that a coordinator met, with one thing it did about it. It
// outlives its job.
type Failure = failures.Failure

// A FailureQuery selects failures; the zero value is all.
type FailureQuery = failures.Query

// Failures implements [JobReader].
func (rt *Runtime) Failures(ctx context.Context, q FailureQuery) ([]Failure, error) {
	q, s, err := rt.failureQuery(ctx, q)
	if err != nil {
		return nil, apierr.AsError(err)
	}
	list, err := s.Find(ctx, q)
	if list == nil {
		list = []Failure{}
	}
	return list, asError(err)
}

// ForgetFailures implements [JobWriter].
func (rt *Runtime) ForgetFailures(ctx context.Context, q FailureQuery) (int, error) {
	q, s, err := rt.failureQuery(ctx, q)
	if err != nil {
		return 0, apierr.AsError(err)
	}
	n, err := s.Forget(ctx, q)
	return n, asError(err)
}

// failureQuery completes a query by a directory.
func (rt *Runtime) failureQuery(ctx context.Context, q FailureQuery) (FailureQuery, failures.Store, error) {
	if q.Project != "" {
		p, err := rootfs.Real(q.Project)
		if err != nil {
			return q, nil, err
		}
		q.Project = p
	}
	s, err := rt.failureStore(ctx)
	return q, s, err
}

// failureStore is what coordinators remember: in the store of the jobs if that is a
// database, else as long as this runtime.
func (rt *Runtime) failureStore(ctx context.Context) (failures.Store, error) {
	store, err := rt.store(ctx)
	if err != nil {
		return nil, err
	}
	if db, ok := store.(failures.Database); ok {
		return failures.In(db), nil
	}
	return &rt.failed, nil
}

// failureMemory is what the steps of a job about earlier failures are performed with.
func (rt *Runtime) failureMemory(j *jobs.Job, fixes repairs.Repairs, hide *secret.Redactor) coordinator.Memory {
	return coordinator.Memory{
		Store: rt.failureStore, Project: rt.projectOf(j), Fixes: fixes, Now: time.Now,
		Setup: rt.o.Coordination.policy().Setup,
		Hide:  hide.String,
	}
}

// projectOf is the directory that a job's failures belong to: that of a worktree is
// the one that it was made from.
func (rt *Runtime) projectOf(j *jobs.Job) string {
	dir := j.Dir
	if w, err := jobdir.OpenWorktree(rt.data(), j.ID); err == nil && w != nil {
		dir = filepath.Join(w.Repo, filepath.FromSlash(w.Sub))
	}
	if p, err := rootfs.Real(dir); err == nil {
		return p
	}
	return dir
}
