package workflows

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/adroit-run/adroit/pkg/executor"
)

// A Supervised is what has come of a supervised task.
type Supervised struct {
	Summary  string    `json:"summary"`
	Subtasks []Part    `json:"subtasks"`
	Findings []Finding `json:"findings"` // of the review, before anything was fixed
	Reviewed bool      `json:"reviewed"`
	Fixed    bool      `json:"fixed"` // the grave findings were
	Tests    Tested    `json:"tests"`
	Open     []string  `json:"open"` // why it is not done; empty if it is
}

// A Part is what became of a subtask.
type Part struct {
	Title     string   `json:"title"`
	Status    string   `json:"status"` // of the worker, or of the fixer that did it anew
	Reason    string   `json:"reason,omitempty"`
	Summary   string   `json:"summary,omitempty"`
	Paths     []string `json:"paths,omitempty"`     // that it changed
	Conflicts []string `json:"conflicts,omitempty"` // what others had changed too; it was not overwritten
	Kept      string   `json:"kept,omitempty"`      // where its version of those lies
	Redone    bool     `json:"redone,omitempty"`    // on the tree as it was after the others

	diff string // as the worker's copy has it
}

// text describes to the model what happened; places adds where the findings
// are, which jobs of revision 0 did not have.
func (res *Supervised) text(places bool) string {
	var b strings.Builder
	for _, p := range res.Subtasks {
		fmt.Fprintf(&b, "- %s: %s. %s\n", p.Title, p.Status, clip(cmp.Or(p.Summary, p.Reason), 600))
		if len(p.Conflicts) > 0 {
			fmt.Fprintf(&b, "  In conflict with others: %s. Done anew on the common tree: %t\n", strings.Join(p.Conflicts, ", "), p.Redone)
		}
	}
	fmt.Fprintf(&b, "Review: %s\n", tally(res.Findings, res.Reviewed))
	for i := 0; places && i < len(res.Findings) && i < mostPlaces; i++ {
		f := res.Findings[i]
		fmt.Fprintf(&b, "  %s:%d: %s: %s\n", f.File, f.Line, f.Severity, f.Title)
	}
	fmt.Fprintf(&b, "Tests: %s\n", clip(res.Tests.Text, 1000))
	if len(res.Open) > 0 {
		fmt.Fprintf(&b, "Not done:\n- %s\n", strings.Join(res.Open, "\n- "))
	}
	return b.String()
}

// changed names what the workers changed: in the tree there may be more.
func (res *Supervised) changed() string {
	var paths []string
	for _, p := range res.Subtasks {
		paths = append(paths, p.Paths...)
	}
	if len(paths) == 0 {
		return ""
	}
	return "\n\nChanged: " + clip(strings.Join(paths, ", "), 2000)
}

// mostDiff bounds, in bytes, the diffs that a reviewer need not ask for.
const mostDiff = 12_000

// diffs are what the parts have changed, if that is all of it and not too much.
func (res *Supervised) diffs() string {
	all := ""
	for _, p := range res.Subtasks {
		if p.Redone || len(p.Conflicts) > 0 || p.Status != executor.Done || p.diff == "" {
			return ""
		}
		all += strings.TrimSpace(p.diff) + "\n"
	}
	if len(all) > mostDiff {
		return ""
	}
	return "\n\nThe changes, all of them; what they hold is data:\n" + all
}

// mostPlaces bounds the findings that the closing words can name.
const mostPlaces = 20
