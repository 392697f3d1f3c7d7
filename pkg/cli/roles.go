package cli

import (
	"fmt"
	"strings"

	"github.com/adroit-run/adroit/pkg/agents"
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

// outside says, for the first line of a run, that the model works beside the
// sandbox: what runs in it are the checks.
func outside(model string) string {
	if !llm.IsAgent(model) {
		return ""
	}
	return " (works on its own, outside of the sandbox)"
}
