package adroit

import (
	"math"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/internal/work/sandbox"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
)

// A Request asks for a job. It is to Target, an agent or a pipeline by name,
// or to what the Input names or holds.
type Request struct {
	agents.Input
	JobConfig
	// Target is the name of an agent or, if none has it, of a pipeline;
	// agent:NAME and pipeline:NAME mean one of them.
	Target string `json:"target,omitempty"`
	// Key makes submitting idempotent: the first job with it is the only one.
	Key string `json:"key,omitempty"`
	// Title stands for the job in lists. Empty: the first line of the prompt,
	// without secrets.
	Title string `json:"title,omitempty"`
}

// check returns what cannot be meant in a request, whatever it is to.
func (r *Request) check() error {
	switch bad := badLimit(r.Limits); {
	case bad != "":
		return problem.Invalidf("leave it out for the default", "%s", bad)
	case r.Approve != "" && !slices.Contains(agents.Approvals, r.Approve):
		return problem.Invalidf(oneOf(agents.Approvals), "--approve is %q", r.Approve)
	case r.Mode != "" && !slices.Contains(executor.Modes, r.Mode):
		return problem.Invalidf(oneOf(executor.Modes), "--mode is %q", r.Mode)
	case r.Calling != "" && !slices.Contains(turn.Modes, r.Calling):
		return problem.Invalidf(oneOf(turn.Modes), "--calling is %q", r.Calling)
	case !r.Options.Effort.Known():
		return problem.Invalidf("it is one of low, medium, high", "--effort is %q", r.Options.Effort)
	}
	if r.Sandbox != "" {
		if _, err := sandbox.Parse(string(r.Sandbox)); err != nil {
			return problem.Invalidf("", "--sandbox: %v", err)
		}
	}
	return nil
}

// badLimit is which of the limits that somebody gives is none, "" if all can be meant.
func badLimit(l executor.Limits) string {
	switch {
	case l.Turns < 0:
		return "--max-turns is negative"
	case l.Tokens < 0:
		return "--max-tokens is negative"
	case l.CostUSD < 0:
		return "--max-cost is negative"
	case !(l.CostUSD <= math.MaxFloat64):
		return "--max-cost is no number"
	case l.Time < 0:
		return "--timeout is negative"
	case l.Rejects < 0:
		return "the limit of rejected answers is negative"
	}
	return ""
}

func oneOf[T ~string](all []T) string {
	words := make([]string, len(all))
	for i, w := range all {
		words[i] = string(w)
	}
	return "it is one of " + strings.Join(words, ", ")
}
