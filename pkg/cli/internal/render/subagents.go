package render

import (
	"fmt"
	"strings"

	"github.com/adroit-run/adroit/pkg/jobs"
)

// SubAgents renders the parts of a job: each below the one it is in,
// whose figures include its own. It is empty if the job has no parts.
func SubAgents(j *jobs.Job, h *History) string {
	parts, more := h.SubAgents(j.Status, jobs.MaxParts)
	if len(parts) == 0 {
		return ""
	}
	var t Table
	t.Row("parts:", "status", "turns", "calls", "tokens in", "out", "cost", "time", "attempts", "retries", "path")
	row := func(title, status string, f jobs.Figures, more ...string) {
		cost := "-"
		if f.Cost > 0 {
			cost = fmt.Sprintf("%.4f USD", f.Cost)
		}
		t.Row(append([]string{title, status, Count(f.Turns), Count(f.Calls), Count(f.Usage.In), Count(f.Usage.Out), cost}, more...)...)
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
			title += ": " + Cut(p.About, 40)
		}
		row(strings.Repeat("  ", depth[p.Path])+title, p.Status, p.Figures, Duration(p.Took), Count(max(p.Attempts, 1)), Count(p.Retries), strings.TrimSpace(p.Path+" "+other(p.Model, j.Model)))
	}
	if f := h.Final; f != nil && f.Own != nil {
		row("  outside of parts", "", *f.Own)
	}
	var b strings.Builder
	t.Write(&b)
	if more > 0 {
		fmt.Fprintf(&b, "  and %s within these; --json has all of them\n", Plural(more, "more part"))
	}
	return b.String()
}

// other is a model if it is not the usual one.
func other(model, usual string) string {
	if model == usual {
		return ""
	}
	return model
}
