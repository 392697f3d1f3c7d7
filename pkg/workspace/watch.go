package workspace

import (
	"context"

	"github.com/adroit-run/adroit/internal/work/ledger"
)

// Watch notes how the files are, for work that somebody else does among them
// and that [Snapshot.Record] then takes into the ledger, under the step of f.
// It returns nil where no ledger is kept.
func (f *Files) Watch(ctx context.Context) (*ledger.Snapshot, error) {
	if f.Ledger == nil {
		return nil, nil
	}
	return f.Ledger.Snapshot(f.Context(ctx), f.Dir())
}
