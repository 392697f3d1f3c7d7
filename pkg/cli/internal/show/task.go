package show

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// Window is the size of a task's context window.
func Window(t executor.Task) string {
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

// KnownWindow is the size of a task's context window in tokens, 0 if it is not
// known or a guess.
func KnownWindow(t executor.Task) int {
	if b := t.Budget; t.Options.Window == 0 && b != nil && !b.Guess {
		return b.Window
	}
	return t.Options.Window
}

// A contextUsage is how much of its context window a job used, as the state that is
// its output has it.
type contextUsage struct {
	Tokens, Limit                               int
	Compactions, Dropped, Shortened, Summarised int
}

// JobContext is the row of a job that has ended.
func JobContext(j *jobs.Job) string {
	var s struct {
		Context contextUsage `json:"context"`
	}
	if json.Unmarshal(j.Output, &s) != nil {
		return ""
	}
	return contextRow(s.Context)
}

// contextRow is how full a job's context window got and what compaction did.
func contextRow(g contextUsage) string {
	if g.Tokens == 0 {
		return ""
	}
	s := kit.Count(g.Tokens) + " tokens"
	if g.Limit > 0 {
		s = fmt.Sprintf("%s of %s tokens", kit.Count(g.Tokens), kit.Count(g.Limit))
	}
	if g.Compactions > 0 {
		s += fmt.Sprintf("; compacted %s: %s dropped, %d shortened, %s summarised", times(g.Compactions), kit.Plural(g.Dropped, "result"), g.Shortened, kit.Plural(g.Summarised, "turn"))
	}
	return s
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// Tests renders how a task's tests are run, for the dry run; empty if it has no
// tool for it.
func Tests(t executor.Task) string {
	var rows []string
	if t.Test != "" {
		rows = append(rows, t.Test)
	}
	rows = append(rows, slices.Sorted(maps.Values(t.NothingToCheck))...)
	return strings.Join(slices.Compact(rows), "; ")
}
