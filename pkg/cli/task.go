package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/jobs"
)

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

// testRow renders how a task's tests are run, for the dry run; empty if it has no
// tool for it.
func testRow(t executor.Task) string {
	var rows []string
	if t.Test != "" {
		rows = append(rows, t.Test)
	}
	rows = append(rows, slices.Sorted(maps.Values(t.Lacking))...)
	return strings.Join(slices.Compact(rows), "; ")
}
