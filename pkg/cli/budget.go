package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// Results bound what a model is shown at once of what tools say.
type results struct {
	Bytes int `yaml:"bytes"` // -1: no bound
}

const leastWindow, leastResult = 1024, 600

func (c *config) checkBudget(where string) error {
	for _, p := range sorted(c.Windows) {
		if c.Windows[p] < leastWindow {
			return broken(fmt.Errorf("%s: windows: %s has %d tokens", where, p, c.Windows[p]), fmt.Sprintf("a window has at least %d tokens", leastWindow))
		}
	}
	if n := c.Results.Bytes; n < -1 || n > 0 && n < leastResult {
		return broken(fmt.Errorf("%s: results.bytes is %d", where, n), fmt.Sprintf("at least %d; -1 shows all, 0 or leaving it out means the default", leastResult))
	}
	return nil
}

func (c *config) budgetSettings() []setting {
	out := []setting{{"results.bytes", strconv.Itoa(cmp.Or(c.Results.Bytes, executor.DefaultResult)), c.Results.Bytes != 0}}
	for _, p := range sorted(c.Windows) {
		out = append(out, setting{"windows." + p, strconv.Itoa(c.Windows[p]), true})
	}
	return out
}

// budget is what jobs may take of a window.
func (c *config) budget() agents.Budget {
	return agents.Budget{Windows: c.Windows, Result: c.Results.Bytes}
}

// windowRow says how large the window of a task is.
func windowRow(t executor.Task) string {
	switch {
	case t.Options.Window > 0:
		return fmt.Sprint(t.Options.Window)
	case t.Budget == nil || t.Budget.Window == 0:
		return ""
	case t.Budget.Guess:
		return fmt.Sprintf("%d, a guess; windows: in the configuration can say what it is", t.Budget.Window)
	}
	return fmt.Sprint(t.Budget.Window)
}

// contextOf is the row of a job that has ended.
func contextOf(j *jobs.Job) string {
	var s struct {
		Context executor.Gauge `json:"context"`
	}
	if json.Unmarshal(j.Output, &s) != nil {
		return ""
	}
	return contextRow(s.Context)
}

// contextRow tells how full the window of a job got and what was done about it.
func contextRow(g executor.Gauge) string {
	if g.Tokens == 0 {
		return ""
	}
	s := count(g.Tokens) + " tokens"
	if g.Limit > 0 {
		s = fmt.Sprintf("%s of %s tokens", count(g.Tokens), count(g.Limit))
	}
	if g.Compactions > 0 {
		s += fmt.Sprintf("; compacted %s: %s dropped, %d shortened, %s summarised", times(g.Compactions), plural(g.Dropped, "result"), g.Shortened, plural(g.Summarised, "turn"))
	}
	return s
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
