package cli

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/adroit-run/adroit/internal/pipeline"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/cli/internal/exit"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// limitFlags are the limits with which a job that a limit stopped goes on.
type limitFlags struct {
	turns, tokens int
	cost          float64
	timeout       time.Duration
}

func (l *limitFlags) add(f *pflag.FlagSet) {
	f.IntVar(&l.turns, "max-turns", 0, "go on past the limit of model calls, up to this many for the agent that was stopped")
	f.IntVar(&l.tokens, "max-tokens", 0, "go on past the limit of tokens, up to this many for the whole job")
	f.Float64Var(&l.cost, "max-cost", 0, "go on past the limit of money, up to this many USD for the whole job")
	f.DurationVar(&l.timeout, "timeout", 0, "go on past the time limit, up to this much for the whole job")
}

func (l *limitFlags) limits() executor.Limits {
	return executor.Limits{Turns: l.turns, Tokens: l.tokens, CostUSD: l.cost, Time: l.timeout}
}

// args are the flags again, for the process that goes on in the background.
func (l *limitFlags) args() (out []string) {
	if l.turns != 0 {
		out = append(out, fmt.Sprintf("--max-turns=%d", l.turns))
	}
	if l.tokens != 0 {
		out = append(out, fmt.Sprintf("--max-tokens=%d", l.tokens))
	}
	if l.cost != 0 {
		out = append(out, fmt.Sprintf("--max-cost=%g", l.cost))
	}
	if l.timeout != 0 {
		out = append(out, fmt.Sprintf("--timeout=%s", l.timeout))
	}
	return out
}

// check refuses limits that would change nothing.
func (l *limitFlags) check(a *app, j *jobs.Job) error {
	given := l.limits()
	switch {
	case l.turns < 0 || l.tokens < 0 || l.cost < 0 || l.timeout < 0:
		return exit.Usagef("leave it out to keep the limit", "a limit is negative")
	case j.Status == jobs.Done || j.Status == jobs.Cancelled:
		return a.runFault(j.ID, fmt.Errorf("%s: %w: %s", j.ID, jobs.ErrFinal, j.Status))
	case j.Status == jobs.Limit && given.String() == "":
		return exit.Usagef(raiseHint(j), "%s was stopped by a limit: %s", j.ID, j.Reason)
	case given.String() != "" && j.Status != jobs.Limit && j.Status != jobs.Stuck:
		return exit.Usagef("adroit jobs resume "+j.ID+" goes on with it within the limits it has", "%s is %s: no limit has stopped it", j.ID, j.Status)
	}
	if l.cost > 0 && j.Model != pipeline.NoModel {
		c, err := a.config()
		if err != nil {
			return err
		}
		if _, ok := c.Prices.Of(j.Model); !ok {
			e := &agents.PriceError{USD: l.cost, Models: []string{j.Model}}
			return exit.Usagef(priceHint(e), "%v", e)
		}
	}
	return nil
}

func raiseHint(j *jobs.Job) string {
	return fmt.Sprintf("adroit jobs resume %s --max-turns N goes on with a higher limit; so do --max-tokens, --max-cost and --timeout\nadroit jobs retry %s runs it again from the start", j.ID, j.ID)
}

// reopening says what of a job goes on when it is resumed with limits.
func (a *app) reopening(j *jobs.Job, more executor.Limits, o *jobs.RunOptions) error {
	set, err := a.tools()
	if err != nil {
		return err
	}
	o.Reopen = executor.Reopener(j.Output, set, more)
	switch {
	case more.String() != "":
		o.Reopened = "resumed with other limits: " + more.String()
	case j.Status == jobs.Stuck || j.Status == jobs.Failed:
		o.Reopened = fmt.Sprintf("resumed after it was %s: %s", j.Status, j.Reason)
	}
	return nil
}
