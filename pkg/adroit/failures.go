package adroit

import (
	"context"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/system/rootfs"
)

// A Failure is one that a coordinator met, with one thing it did about it. It
// outlives its job.
type Failure = problem.Failure

// A FailureQuery selects failures; the zero value is all.
type FailureQuery = problem.Query

// Failures implements [JobReader].
func (rt *Runtime) Failures(ctx context.Context, q FailureQuery) ([]Failure, error) {
	q, s, err := rt.failureQuery(ctx, q)
	if err != nil {
		return nil, problem.AsError(err)
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
		return 0, problem.AsError(err)
	}
	n, err := s.Forget(ctx, q)
	return n, asError(err)
}

// failureQuery completes a query by a directory.
func (rt *Runtime) failureQuery(ctx context.Context, q FailureQuery) (FailureQuery, problem.Store, error) {
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
