package cli

import (
	"fmt"
	"strings"

	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/cli/internal/render"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/llm"
)

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

// outside says, for the first line of a run, that the model works beside the
// sandbox: what runs in it are the checks.
func outside(model string) string {
	if !llm.IsAgent(model) {
		return ""
	}
	return " (works on its own, outside of the sandbox)"
}
