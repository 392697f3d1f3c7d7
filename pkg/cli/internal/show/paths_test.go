package show

import (
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/adroit"
)

// A tab and what acts on a terminal are shown in names of files, wherever they are listed.
func TestNamesOfFiles(t *testing.T) {
	const name = "a\tb\x1b[31m\nc"
	var b strings.Builder
	Undo(&b, &b, &adroit.UndoReport{Restored: []string{name}, Removed: []string{name}})
	Merge(&b, &b, &adroit.MergeReport{Commit: "c", Paths: []string{name}, Left: []string{name}, Hidden: []string{name}}, func(s string) string { return s })
	if got := b.String(); strings.Count(got, `a\tb\x1b[31m\nc`) != 5 || strings.ContainsAny(got, "\t\x1b") {
		t.Errorf("%s", got)
	}
}
