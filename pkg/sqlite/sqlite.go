// Package sqlite keeps jobs, journals and event logs in one SQLite file.
//
//	rt, err := adroit.Open(ctx, adroit.Options{Storage: adroit.Storage{Data: dir, Store: sqlite.Store(dir)}, …})
//
// What a method acknowledged survives the end of the process and of the power.
// Several processes of one machine may open the same directory; it must not be on a
// network file system.
package sqlite

import (
	"context"

	"github.com/adroit-run/adroit/internal/sqlite"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// Store returns what opens the store of the data directory dir, which it makes
// if it is not there: adroit.Options.Store.
func Store(dir string) func(context.Context) (jobs.Store, error) { return sqlite.Store(dir) }
