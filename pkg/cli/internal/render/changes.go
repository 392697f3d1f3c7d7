package render

import (
	"fmt"
	"strings"

	"github.com/adroit-run/adroit/internal/workspace/ledger"
)

// Changes names what was changed, and not everything of much.
func Changes(cs []ledger.Change) string {
	var parts []string
	for i, c := range cs {
		if i == 6 {
			parts = append(parts, fmt.Sprintf("and %d more", len(cs)-i))
			break
		}
		what := string(c.Kind) + " " + c.Path
		if c.Kind == ledger.Renamed {
			what = "renamed " + c.From + " to " + c.Path
		}
		if c.Uncertain {
			what += " (uncertain)"
		}
		parts = append(parts, what)
	}
	return strings.Join(parts, ", ")
}
