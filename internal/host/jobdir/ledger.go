package jobdir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/adroit-run/adroit/internal/work/ledger"
	"github.com/adroit-run/adroit/internal/work/overlay"
)

// OpenLedger opens the record of what a job changed, nil if it never began to work
// on files.
func OpenLedger(data, id string) (*ledger.Ledger, error) {
	return openLedger(filepath.Join(data, "jobs", id))
}

// OpenTreeLedger is OpenLedger for the worktree of one of a job's sub-agents.
func OpenTreeLedger(data, job, name string) (*ledger.Ledger, error) {
	return openLedger(treeHome(data, job, name))
}

func openLedger(home string) (*ledger.Ledger, error) {
	dir := filepath.Join(home, "ledger")
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return ledger.Open(dir, overlay.Recover)
}

func treeHome(data, job, name string) string {
	return filepath.Join(data, "jobs", job, "trees", name)
}
