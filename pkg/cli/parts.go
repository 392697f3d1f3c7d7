package cli

import (
	"fmt"
	"strings"

	"github.com/adroit-run/adroit/pkg/jobs"
)

// partsOf are the sub-agents and steps of pipelines of a job, with what each took.
func (a *app) partsOf(j *jobs.Job, h history, most int) ([]jobs.Part, int) {
	return h.tally.books().Parts(most, j.Status)
}

// showParts prints the parts of a job as a table: each below the one it is in,
// whose figures have its own in them.
func (a *app) showParts(j *jobs.Job, h history) {
	parts, more := a.partsOf(j, h, jobs.MaxParts)
	if len(parts) == 0 {
		return
	}
	var t table
	t.row("parts:", "status", "turns", "calls", "tokens in", "out", "cost", "time", "attempts", "retries", "path")
	row := func(title, status string, f jobs.Figures, more ...string) {
		cost := "-"
		if f.Cost > 0 {
			cost = fmt.Sprintf("%.4f USD", f.Cost)
		}
		t.row(append([]string{title, status, count(f.Turns), count(f.Calls), count(f.Usage.In), count(f.Usage.Out), cost}, more...)...)
	}
	depth := map[string]int{}
	for i := range parts {
		p := &parts[i]
		depth[p.Path] = depth[p.Within] + 1
		title := p.Title()
		if p.Step != "" && p.Agent != "" && p.Agent != p.Step {
			title += " (" + p.Agent + ")"
		}
		if p.About != "" {
			title += ": " + cut(p.About, 40)
		}
		row(strings.Repeat("  ", depth[p.Path])+title, p.Status, p.Figures, span(p.Took), count(max(p.Attempts, 1)), count(p.Retries), strings.TrimSpace(p.Path+" "+other(p.Model, j.Model)))
	}
	if f := h.final; f != nil && f.Own != nil {
		row("  outside of parts", "", *f.Own)
	}
	fmt.Fprintln(a.Stdout)
	t.write(a.Stdout)
	if more > 0 {
		fmt.Fprintf(a.Stdout, "  and %s within these; --json has all of them\n", plural(more, "more part"))
	}
}

// other is a model if it is not the usual one.
func other(model, usual string) string {
	if model == usual {
		return ""
	}
	return model
}

// tell says what a job has taken that has not ended.
func (t *tally) tell(put func(label, value string)) {
	all := t.all()
	if all.Turns > 0 {
		put("turns", count(all.Turns))
	}
	if u := all.Usage; u.In+u.Out > 0 {
		put("tokens", fmt.Sprintf("%s in (%s cached), %s out", count(u.In), count(u.Cached), count(u.Out)))
	}
	if all.Cost > 0 {
		put("cost", fmt.Sprintf("%.4f USD", all.Cost))
	}
}
