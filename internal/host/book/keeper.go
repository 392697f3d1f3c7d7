package book

import (
	"context"

	"github.com/adroit-run/adroit/internal/memory"
	"github.com/adroit-run/adroit/pkg/guard/secret"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/workspace"

	"sync"
)

// A Keeper keeps the facts of jobs and people, and finds them again. Its fields are
// not changed once it is used; it is safe for concurrent use.
type Keeper struct {
	// Jobs returns the store of the jobs, which keeps the facts, too, if it can.
	Jobs    func(context.Context) (jobs.Store, error)
	Data    string              // the directory that keeps jobs
	Names   *workspace.DenyList // files that are no evidence; nil: the usual list
	Secrets *secret.Redactor
	Warn    func(format string, args ...any)

	once  sync.Once
	local memory.Store // of a store of jobs that keeps no facts
}

// Store is where facts are kept: in the store of the jobs if it can, else in this
// process.
func (k *Keeper) Store(ctx context.Context) (memory.Store, error) {
	store, err := k.Jobs(ctx)
	if err != nil {
		return nil, err
	}
	if s, ok := store.(memory.Store); ok {
		return s, nil
	}
	k.once.Do(func() { k.local = memory.New() })
	return k.local, nil
}
