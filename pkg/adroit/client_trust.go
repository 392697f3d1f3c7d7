package adroit

import (
	"context"
	"slices"

	"github.com/adroit-run/adroit/internal/trust"
)

// trustStore is the store of the options, or why there is none.
func (rt *Runtime) trustStore() (*trust.Store, error) {
	if rt.o.Trust == nil {
		return nil, Invalidf("set Options.Trust", "this runtime keeps no decisions about trust")
	}
	return rt.o.Trust, nil
}

// Trust implements [Machine].
func (rt *Runtime) Trust(_ context.Context, dir string) (*trust.Status, error) {
	s, err := rt.trustStore()
	if err != nil {
		return nil, err
	}
	st, err := s.Check(dir)
	return &st, asError(err)
}

// SetTrust implements [Machine].
func (rt *Runtime) SetTrust(ctx context.Context, c TrustChange) (*trust.Status, error) {
	s, err := rt.trustStore()
	if err != nil {
		return nil, err
	}
	if c.Revoke {
		_, err = s.Revoke(c.Dir)
	} else {
		var st trust.Status
		if st, err = s.Check(c.Dir); err == nil {
			open := slices.DeleteFunc(slices.Clone(st.Files), func(f trust.File) bool { return f.State == trust.Trusted || f.State == trust.Never })
			err = s.Record(st, open, c.Trust)
		}
	}
	if err != nil {
		return nil, AsError(err)
	}
	return rt.Trust(ctx, c.Dir)
}
