package show

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/calling/extagent"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// Plan renders a resolved request. noEffort is the reason why the model's requests
// leave out how much it thinks, "" if they do not.
func Plan(w io.Writer, p *adroit.Plan, noEffort string, home func(string) string) {
	if p.Pinned != nil {
		pipelinePlan(w, p, home)
		return
	}
	t := p.Task
	size := len(t.System) + len(t.Prompt)
	for _, tool := range t.Tools {
		size += len(tool.Name) + len(tool.Description) + len(tool.Input)
	}
	l := t.Limits.Or(executor.DefaultLimits)
	bounds := []string{kit.Plural(l.Turns, "turn"), kit.Plural(l.Tokens, "token"), l.Time.String()}
	if l.CostUSD > 0 {
		bounds = append(bounds, fmt.Sprintf("%.2f USD", l.CostUSD))
	}
	var rows kit.Table
	rows.Row("agent", t.Agent)
	rows.Row("model", strings.Join(executor.Route{Model: t.Model, Fallbacks: t.Fallbacks}.Refs(), ", then "))
	if t.Think != nil {
		rows.Row("thinks with", strings.Join(t.Think.Refs(), ", then "))
	}
	if w := Window(t); w != "" {
		rows.Row("window", w)
	}
	if e := string(t.Options.Effort); e != "" {
		if noEffort != "" {
			e += " (left out: " + noEffort + ")"
		}
		rows.Row("effort", e)
	}
	rows.Row("directory", home(p.Input.Dir))
	rows.Row("tools", toolNames(t))
	ShortenedRows(&rows, "", t.ShortenedTools)
	rows.Row("done", Criterion(t.Done))
	for _, l := range p.Stages {
		rows.Row("stage", l)
	}
	if tests := Tests(t); tests != "" {
		rows.Row("tests", tests)
	}
	rows.Row("limits", strings.Join(bounds, ", "))
	rows.Row("mode", string(t.Mode))
	for _, r := range t.Rules {
		rows.Row("permission", r.String())
	}
	rows.Row("approve", string(t.Approve))
	rows.Row("prompt", fmt.Sprintf("about %s with tools", kit.Plural(kit.Tokens(size), "token")))
	rows.Write(w)
	fmt.Fprintf(w, "\n%s\n\n%s\n", kit.Sanitize(t.System), kit.Sanitize(t.Prompt))
}

func pipelinePlan(w io.Writer, p *adroit.Plan, home func(string) string) {
	t, pin := p.Task, p.Pinned
	l := t.Limits.Or(executor.DefaultLimits)
	var rows kit.Table
	rows.Row("pipeline", pin.Pipeline.Name)
	rows.Row("model", t.Model)
	rows.Row("directory", home(p.Input.Dir))
	if len(t.Tools) > 0 {
		rows.Row("tools", toolNames(t))
	}
	rows.Row("limits", fmt.Sprintf("%s, %s, of all steps together", kit.Plural(l.Tokens, "token"), l.Time))
	rows.Row("mode", string(t.Mode))
	rows.Row("approve", string(t.Approve))
	rows.Write(w)
	fmt.Fprintf(w, "\n%s\n", kit.Sanitize(pin.Pipeline.Text()))
}

func toolNames(t executor.Task) string {
	var names []string
	for _, tool := range t.Tools {
		names = append(names, tool.Name)
	}
	return strings.Join(names, ", ")
}

// Outside notes that a model works on its own, beside the sandbox: what runs in
// the sandbox are the checks.
func Outside(model string) string {
	if !extagent.IsAgent(model) {
		return ""
	}
	return " (works on its own, outside of the sandbox)"
}

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

// A contextUsage is a job's use of its context window, read from the state that it
// outputs.
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

// contextRow renders how full a job's context window became and what compaction removed.
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
