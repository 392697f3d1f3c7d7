package workspace

import "context"

// Watch notes how the files are, for work that somebody else does among them
// and that [Snapshot.Record] then takes into the ledger, under the step of f.
// It returns nil where no ledger is kept.
func (f *Files) Watch(ctx context.Context) (*Snapshot, error) {
	if f.led == nil {
		return nil, nil
	}
	return f.led.Snapshot(f.Context(ctx), f.Dir())
}
