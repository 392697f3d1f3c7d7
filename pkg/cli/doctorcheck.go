package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/adroit-run/adroit/internal/workspace/ledger"
	"github.com/adroit-run/adroit/internal/workspace/overlay"
	"github.com/adroit-run/adroit/pkg/cli/internal/render"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/sqlite"
)

// examineWhole reads all that is kept: the database, and what undo needs of
// every job.
func (a *app) examineWhole(ctx context.Context) []finding {
	const name, remedy = "check", "restore a backup: adroit restore FILE --replace"
	dir, err := a.dataDir()
	if err != nil {
		return nil // the row before this one has it
	}
	db, err := sqlite.OpenReadOnly(ctx, filepath.Join(dir, "adroit.db"))
	if err != nil {
		return []finding{{name, broke, err.Error(), remedy}}
	}
	defer db.Close()
	var out []finding
	faults, err := db.Verify(ctx)
	if err != nil {
		faults = append(faults, err.Error())
	}
	for _, f := range faults {
		out = append(out, finding{name, broke, f, remedy})
	}
	list, err := db.List(ctx, jobs.Query{})
	if err != nil {
		return append(out, finding{name, broke, err.Error(), remedy})
	}
	known := map[string]bool{}
	ledgers := 0
	for _, j := range list {
		known[j.ID] = true
		led, err := a.ledger(j)
		if err == nil && led != nil {
			ledgers++
			err = led.Verify(ctx)
			_ = led.Close()
		}
		if err != nil {
			out = append(out, finding{name, broke, fmt.Sprintf("%s: %v", j.ID, err), "undo of this job is incomplete; " + remedy})
		}
	}
	folders, _ := os.ReadDir(filepath.Join(dir, "jobs")) // there need not be any
	for _, f := range folders {
		if !known[f.Name()] {
			out = append(out, finding{name, report, "the folder of " + f.Name() + " has no job in the database",
				"adroit jobs undo " + f.Name() + " takes its changes back, adroit jobs rm " + f.Name() + " removes it"})
		}
	}
	if len(out) == 0 {
		out = append(out, finding{name, fine, fmt.Sprintf("database and %s", render.Plural(ledgers, "record")) + " of changes", ""})
	}
	return out
}

// ledger opens the record of what a job changed, nil if it never began to
// work on files.
func (a *app) ledger(j *jobs.Job) (*ledger.Ledger, error) {
	data, err := a.dataDir()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(data, "jobs", j.ID, "ledger")
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return ledger.Open(dir, overlay.Recover)
}
