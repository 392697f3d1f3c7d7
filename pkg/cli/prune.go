package cli

import (
	"context"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/config"
)

// retire removes what the setting retention says is old. It is done when a job
// begins, and fails no job.
func (a *app) retire(ctx context.Context) {
	conf, err := a.config()
	if err != nil || conf.Retention == "" {
		return
	}
	age, err := config.ParseAge(conf.Retention)
	if err != nil {
		return
	}
	c, err := a.client()
	if err == nil {
		var r *adroit.PruneReport
		if r, err = c.Prune(ctx, adroit.PruneOptions{Age: age}); err == nil {
			err = r.Err()
		}
	}
	if err != nil {
		a.note("retention: %v", err)
	}
}
