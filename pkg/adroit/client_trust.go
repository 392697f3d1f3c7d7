package adroit

import (
	"context"
	"slices"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/pkg/guard/trust"
)

// trustStore is the record of the options, or why there is none.
func (rt *Runtime) trustStore() (*trust.Store, error) {
	if rt.trust == nil {
		return nil, problem.Invalidf("set Options.Trust", "this runtime keeps no decisions about trust")
	}
	return rt.trust, nil
}

// Trust implements [Machine].
func (rt *Runtime) Trust(_ context.Context, dir string) (*trust.Status, error) {
	s, err := rt.trustStore()
	if err != nil {
		return nil, err
	}
	st, err := s.Check(dir)
	if err != nil {
		return nil, problem.WithHint(err, "remove the file to start anew: then nothing is trusted")
	}
	st = st.WithText()
	return &st, nil
}

// Trusts implements [Machine].
func (rt *Runtime) Trusts(context.Context) ([]trust.Place, error) {
	s, err := rt.trustStore()
	if err != nil {
		return nil, err
	}
	places, err := s.List()
	if places == nil {
		places = []trust.Place{}
	}
	return places, asError(err)
}

// SetTrust implements [Machine].
func (rt *Runtime) SetTrust(ctx context.Context, c TrustChange) (*trust.Status, error) {
	s, err := rt.trustStore()
	if err != nil {
		return nil, err
	}
	if c.Revoke {
		had, err := s.Revoke(c.Dir)
		if err == nil && !had {
			err = &problem.Error{Kind: problem.Failed, Message: c.Dir + " has no trust decision", Hint: hint.Command("trust --list") + " lists the projects"}
		}
		return nil, asError(err)
	}
	st, err := rt.Trust(ctx, c.Dir)
	if err != nil {
		return nil, err
	}
	files := c.Files
	if files == nil {
		files = st.Open()
	}
	for _, f := range files {
		known := func(now trust.File) bool { return now.Path == f.Path && now.State != trust.Never }
		if !slices.ContainsFunc(st.Files, known) {
			return nil, problem.Invalidf(hint.Command("trust --show")+" lists the files", "%s is no file of %s that can be trusted", f.Path, st.Root)
		}
	}
	if err := s.Record(*st, files, c.Trust); err != nil {
		return nil, problem.AsError(err)
	}
	return rt.Trust(ctx, c.Dir)
}
