package workflows

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/pkg/executor"
)

// A Finding is one fault that a reviewer reported.
type Finding struct {
	Severity   string   `json:"severity"` // critical, major, minor, nit
	Category   string   `json:"category"`
	File       string   `json:"file"`
	Line       int      `json:"line"`
	Title      string   `json:"title"`
	Detail     string   `json:"detail"`
	Suggestion string   `json:"suggestion,omitempty"`
	Found      []string `json:"found,omitempty"` // the focus of those who found it, if there were several
}

// severities in the order of a report.
func severities() []string { return []string{"critical", "major", "minor", "nit"} }

// findings returns a reviewer's findings. It reports false if there was no
// review.
func findings(rep executor.Report) ([]Finding, bool) {
	var list []Finding
	raw, ok := rep.Artifacts["findings"]
	if !ok || rep.Status != executor.Done || json.Unmarshal(raw, &list) != nil {
		return nil, false
	}
	return list, true
}

// severe are the findings that should not be left.
func severe(list []Finding) (out []Finding) {
	for _, f := range list {
		if f.Severity == "critical" || f.Severity == "major" {
			out = append(out, f)
		}
	}
	return out
}

// merge puts together what several reviewers found, the gravest first. What two
// of them find in one place is one finding; a single one stays as it is.
func merge(focus []string, lists [][]Finding) []Finding {
	out := []Finding{}
	for i, list := range lists {
		before := len(out) // findings of other reviewers
		for _, f := range list {
			at := slices.IndexFunc(out[:before], func(g Finding) bool { return g.same(f) })
			if at < 0 {
				f.Found = []string{focus[i]}
				out = append(out, f)
				continue
			}
			g := &out[at]
			if f.rank() < g.rank() {
				found := g.Found
				*g, g.Found = f, found
			}
			if !slices.Contains(g.Found, focus[i]) {
				g.Found = append(slices.Clip(g.Found), focus[i])
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	return out
}

func (f Finding) rank() int {
	if i := slices.Index(severities(), f.Severity); i >= 0 {
		return i
	}
	return len(severities())
}

// same reports whether two reviewers mean the same fault: they point at the same
// place, and speak of the same thing or in the same words.
func (f Finding) same(g Finding) bool {
	if f.File != g.File || max(f.Line, g.Line)-min(f.Line, g.Line) > 2 {
		return false
	}
	a, b := significant(f.Title), significant(g.Title)
	both := 0
	for _, w := range a {
		if slices.Contains(b, w) {
			both++
		}
	}
	return f.Category != "" && f.Category == g.Category || 2*both >= max(1, min(len(a), len(b)))
}

// significant are the words of a title that say what it is about.
func significant(title string) (out []string) {
	for _, w := range strings.FieldsFunc(strings.ToLower(title), func(r rune) bool {
		return !('a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '_' || r > 127)
	}) {
		if len(w) > 3 && !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return out
}

// tally sums up in a line what a review has come to.
func tally(list []Finding, reviewed bool) string {
	if !reviewed {
		return "there was none"
	}
	if len(list) == 0 {
		return "no findings"
	}
	var parts []string
	for _, s := range severities() {
		n := 0
		for _, f := range list {
			if f.Severity == s {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	return strings.Join(parts, ", ")
}
