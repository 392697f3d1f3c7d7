package cli

import (
	"context"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/llm"
)

const effortHint = "it is one of low, medium, high"

// effort describes an effort, and why the model's request leaves it out as far
// as that is known beforehand.
func (a *app) effort(ctx context.Context, baseURL, ref string, e llm.Effort) string {
	rt, err := a.runtime()
	if err != nil {
		return string(e)
	}
	if m, err := rt.ModelState(ctx, adroit.ModelQuery{Model: ref, BaseURL: baseURL}); err == nil && m.NoEffort != "" {
		return string(e) + " (left out: " + m.NoEffort + ")"
	}
	return string(e)
}
