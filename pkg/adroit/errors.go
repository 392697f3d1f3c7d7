package adroit

import "github.com/adroit-run/adroit/internal/problem"

type (
	// An Error is what went wrong, in a form that survives JSON: Kind, Message, and in
	// Hint what helps. A program that branches on it asks errors.Is for an error of
	// pkg/jobs, such as jobs.ErrNotExist, or compares its Kind with [Invalid].
	Error = problem.Error
	// A Kind is what an error is about.
	Kind = problem.Kind
)

// Invalid is the kind of errors about a request that cannot be meant, the only one that
// no error of pkg/jobs stands for and that a program can do something about.
const Invalid = problem.Invalid

// asError is AsError for a result of type error.
func asError(err error) error {
	if err == nil {
		return nil
	}
	return problem.AsError(err)
}
