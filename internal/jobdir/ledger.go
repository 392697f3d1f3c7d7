package jobdir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/adroit-run/adroit/internal/workspace/ledger"
	"github.com/adroit-run/adroit/internal/workspace/overlay"
)

// OpenLedger opens the record of what a job changed, nil if it never began to work
// on files.
func OpenLedger(data, id string) (*ledger.Ledger, error) {
	dir := filepath.Join(data, "jobs", id, "ledger")
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return ledger.Open(dir, overlay.Recover)
}
