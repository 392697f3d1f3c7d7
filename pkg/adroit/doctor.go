package adroit

import (
	"context"

	"github.com/adroit-run/adroit/internal/host/doctor"
	"github.com/adroit-run/adroit/pkg/tools"
)

// Doctor implements [Machine].
func (rt *Runtime) Doctor(ctx context.Context, q DoctorQuery) ([]Finding, error) {
	d := rt.o.doctor(q)
	d.Jobs, d.Tools, d.TestCommand = rt.data(), rt.tools, rt.testCommandIn
	d.Agents = func(ctx context.Context) (int, error) {
		l, err := rt.Agents(ctx, Scope{})
		if err == nil {
			err = l.Problems.Err()
		}
		if err != nil {
			return 0, err
		}
		return len(l.Items), nil
	}
	d.Models = func(ctx context.Context) []Finding {
		c, err := rt.modelCatalog()
		if err != nil {
			return nil
		}
		return c.Examine(ctx, q.Model)
	}
	return d.Examine(ctx), nil
}

// Diagnose is Doctor for options that no runtime could be opened with; failed
// is why.
func Diagnose(ctx context.Context, o Options, failed error, q DoctorQuery) []Finding {
	d := o.doctor(q)
	d.Failed, d.Tools = failed, func() (*tools.Set, error) { return tools.NewSet(o.Tools...) }
	return d.Examine(ctx)
}

// doctor has what the options say.
func (o *Options) doctor(q DoctorQuery) *doctor.Doctor {
	d := &doctor.Doctor{Query: q, Data: o.Data, ConfigFile: o.ConfigFile, CheckStore: o.CheckStore, Servers: o.Servers, Sandbox: o.Sandbox, Rules: o.Defaults.Rules}
	if names := o.Names; names != nil {
		d.Deny = names.Deny
	}
	return d
}
