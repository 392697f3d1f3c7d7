package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/cli/internal/render"
	"github.com/adroit-run/adroit/pkg/config"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/llm"
)

// Route implements [adroit.ModelSource]. A fallback whose window cannot be found
// out now may be there when it is needed: its provider then decides.
func (m *models) Route(ctx context.Context, ref string) (executor.Route, error) {
	r := executor.Route{Hedge: m.conf.Models[ref].Hedge}
	var err error
	if r.Model, err = m.Canonical(m.conf.ModelOf(ref)); err != nil {
		return r, err
	}
	for _, name := range m.conf.FallbacksOf(ref) {
		next, err := m.Canonical(m.conf.ModelOf(name))
		if err != nil {
			return r, fmt.Errorf("a fallback of %s: %w", ref, err)
		}
		if slices.Contains(r.Refs(), next) {
			continue
		}
		f := executor.Fallback{Model: next}
		if w, err := m.Window(ctx, next); err == nil {
			f.Window = w
		}
		r.Fallbacks = append(r.Fallbacks, f)
	}
	return r, nil
}

// Think implements [adroit.ModelSource].
func (m *models) Think() string {
	if _, ok := m.conf.Models[config.RoleCheap]; ok {
		return config.RoleCheap
	}
	return ""
}

// Roles implements [adroit.ModelSource].
func (m *models) Roles() []string { return slices.Sorted(maps.Keys(m.conf.Models)) }

// priceHint shows the lines of the config that are missing.
func priceHint(e *agents.PriceError) string {
	var b strings.Builder
	b.WriteString("set what they cost in the config file, in USD per million tokens, with zeros for what is free:\nprices:")
	for _, ref := range e.Models {
		fmt.Fprintf(&b, "\n  %q: {in: …, out: …}", ref)
	}
	b.WriteString("\nor bound the tokens instead: --max-tokens N")
	return b.String()
}

// shares prints what each model has used, if there was more than one.
func (a *app) shares(f *jobs.Final, put func(label, value string)) {
	rate := a.rate()
	for _, ref := range sorted(f.Used) {
		u := f.Used[ref]
		words := fmt.Sprintf("%s: %s tokens in (%s cached), %s out", ref, render.Count(u.In), render.Count(u.Cached), render.Count(u.Out))
		if rate != nil {
			if usd := rate(ref, llm.Usage(u)); usd > 0 {
				words += fmt.Sprintf(", %.4f USD", usd)
			}
		}
		put("used", words)
	}
}
