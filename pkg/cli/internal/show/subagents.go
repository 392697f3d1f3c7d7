package show

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// Parts renders the parts of a job: each below the one it is in, whose figures
// include its own. It is empty if the job has no parts.
func Parts(d *adroit.JobDetail) string {
	if len(d.Usage.Parts) == 0 {
		return ""
	}
	depth := map[string]int{}
	for _, p := range d.Usage.Parts {
		depth[p.Path] = depth[p.Within] + 1
	}
	parts, more := outermost(d.Usage.Parts, depth)
	var t kit.Table
	t.Row("parts:", "status", "turns", "calls", "tokens in", "out", "cost", "time", "attempts", "retries", "path")
	row := func(title, status string, f jobs.Figures, more ...string) {
		cost := "-"
		if f.Cost > 0 {
			cost = fmt.Sprintf("%.4f USD", f.Cost)
		}
		t.Row(append([]string{title, status, kit.Count(f.Turns), kit.Count(f.Calls), kit.Count(f.Usage.In), kit.Count(f.Usage.Out), cost}, more...)...)
	}
	for i := range parts {
		p := &parts[i]
		title := p.Title()
		if p.Step != "" && p.Agent != "" && p.Agent != p.Step {
			title += " (" + p.Agent + ")"
		}
		if p.About != "" {
			title += ": " + kit.Cut(p.About, 40)
		}
		row(strings.Repeat("  ", depth[p.Path])+title, p.Status, p.Figures, kit.Duration(p.Took), kit.Count(max(p.Attempts, 1)), kit.Count(p.Retries), strings.TrimSpace(p.Path+" "+other(p.Model, d.Job.Model)))
	}
	if f := d.Final; f != nil && f.Own != nil {
		row("  outside of parts", "", *f.Own)
	}
	var b strings.Builder
	t.Write(&b)
	if more > 0 {
		fmt.Fprintf(&b, "  and %s within these; --json has all of them\n", kit.Plural(more, "more part"))
	}
	return b.String()
}

// maxParts is how many parts are shown, as many as the last event of a run lists.
const maxParts = 100

// outermost are the first maxParts parts by depth, in the order of all, and
// how many more there are.
func outermost(all []jobs.Part, depth map[string]int) (parts []jobs.Part, more int) {
	if len(all) <= maxParts {
		return all, 0
	}
	byDepth := slices.Clone(all)
	slices.SortStableFunc(byDepth, func(p, q jobs.Part) int {
		return cmp.Or(cmp.Compare(depth[p.Path], depth[q.Path]), flow.Compare(p.Path, q.Path))
	})
	kept := map[string]bool{}
	for _, p := range byDepth[:maxParts] {
		kept[p.Path] = true
	}
	parts = slices.DeleteFunc(slices.Clone(all), func(p jobs.Part) bool { return !kept[p.Path] })
	return parts, len(all) - len(parts)
}

// other is a model if it is not the usual one.
func other(model, usual string) string {
	if model == usual {
		return ""
	}
	return model
}
